//! Tests of parsing a whole file: defaults and error messages.

use super::super::file::FILE_BYTES_MAX;
use super::super::keys::KEYS;
use super::super::place::{Place, Symbol};
use super::super::quantity::Scaled;
use super::super::shipped::{SHIPPED, find};
use model::{Backing, NumberPlace, ServerKind};

use super::super::experiment::MechanismChoice;
use super::super::load::{DataSize, WorkUnit};
use super::super::place::{CpuChoice, MemoryChoice};
use super::super::quantity::Quantity;
use super::super::sga::{AllocationChoice, CacheSize, PageSize};
use super::*;
use proptest::prelude::*;

const SMALL: &str = r#"format = "numalab.experiment/1"
name = "mine"
question = "Does it matter?"
baseline = "one"
asks-about-memory = false

[load]
sessions = 4

[[case]]
name = "one"
about = "The first."

[[case]]
name = "two"
about = "The second."
cpus = "0-3"
memory-nodes = "0"
mechanism = "affinity"
cache = "64MiB"
backing = "sysv"
page-size = "2MiB"
allocation = "bind:0"
sessions = "readers"
cpu-count = 2
data = "2GiB"
update-pct = 30
handicap = "2.5 %"
emulated-cost = "0 9; 8 1"
work = "logical-reads"
kernel = "copy"
stealing = "free"
work-unit = 64
own-memory = "8MiB"
own-allocation = "bind:0"
command = "echo 1"
number = "line:1"
unit = "tps"
better = "less"
begin = "^a"
end = "^b"
server = "a"
ready = "b"
client-cpus = "0"
cpu-quota = 2
prewarm-cpus = "first-node"
moved-to = "interleave:0"
server-settings = "a=1 b=x,y"
"#;

/// Returns the error of SMALL with `old` replaced by `new`.
fn error(old: &str, new: &str) -> String {
    assert!(SMALL.contains(old), "{old}");
    let text = SMALL.replacen(old, new, 1);
    Definition::parse("mine.toml", &text)
        .unwrap_err()
        .to_string()
}

#[test]
fn a_small_file_gets_every_default() {
    let definition = Definition::parse("mine.toml", SMALL).unwrap();
    let one = &definition.cases[0];
    assert_eq!(
        definition.needs,
        Needs {
            cpus: 1,
            memory_nodes: 1
        }
    );
    assert_eq!(one.cpus, CpuChoice::Inherited);
    assert_eq!(one.memory_nodes, MemoryChoice::Inherited);
    assert_eq!(one.mechanism, MechanismChoice::Auto);
    assert_eq!(one.cache, CacheSize::BeyondCaches);
    assert_eq!(one.backing, Backing::Memfd);
    assert_eq!(one.page_size, PageSize::Base);
    assert_eq!(one.allocation, AllocationChoice::OsDefault);
    assert_eq!((one.sessions, one.cpu_count), (Quantity::Number(4), None));
    assert_eq!(definition.text, SMALL);
}

#[test]
fn memory_goes_by_caches_where_there_is_memory_and_no_size() {
    let check = |name: &str, expected| {
        let definition = find(name).unwrap();
        assert_eq!(definition.goes_by_caches(), expected, "{name}");
    };
    check("binding-vs-caging", true);
    check("memory-hammer", true);
    check("spin", false);
    let mut definition = Definition::parse("mine.toml", SMALL).unwrap();
    assert!(definition.goes_by_caches());
    // The second case sets its cache size.
    definition.cases.remove(0);
    assert!(!definition.goes_by_caches());
}

#[test]
fn a_case_overrides_every_default() {
    let definition = Definition::parse("mine.toml", SMALL).unwrap();
    let two = &definition.cases[1];
    assert_eq!(
        two.cpus,
        CpuChoice::All(Place::List("0-3".parse().unwrap()))
    );
    assert_eq!(two.mechanism, MechanismChoice::Affinity);
    assert_eq!(two.cache, CacheSize::Bytes(64 << 20));
    assert_eq!(two.backing, Backing::Sysv);
    assert_eq!(two.page_size, PageSize::Bytes(2 << 20));
    assert_eq!(two.sessions, Quantity::Scaled(Scaled::Readers));
    assert_eq!(two.cpu_count, Some(Quantity::Number(2)));
    assert_eq!(two.data, DataSize::Bytes(2 << 30));
    assert_eq!(two.work_unit, WorkUnit::Rows(64));
    assert_eq!(two.command.number, NumberPlace::Line(1));
    assert!(!two.command.more_is_better);
    assert_eq!(
        (two.command.begin.as_str(), two.command.end.as_str()),
        ("^a", "^b")
    );
    assert_eq!(
        (two.command.server.as_str(), two.command.ready.as_str()),
        ("a", "b")
    );
    assert_eq!(
        two.command.client_cpus,
        CpuChoice::All(Place::List("0".parse().unwrap()))
    );
    assert_eq!(two.own_memory, CacheSize::Bytes(8 << 20));
    assert_eq!((definition.cases[0].update_pct, two.update_pct), (0, 30));
    assert_eq!((definition.cases[0].handicap, two.handicap), (0, 250));
    let table = crate::CostTable::Rows(vec![vec![0, 9], vec![8, 1]]);
    assert_eq!(definition.cases[0].emulated_cost, None);
    assert_eq!(two.emulated_cost, Some(table));
    assert_eq!(two.cpu_quota, Some(Quantity::Number(2)));
    assert_eq!(
        two.prewarm_cpus,
        CpuChoice::All(Place::Symbol(Symbol::FirstNode))
    );
    assert!(definition.cases[0].server_settings.is_empty());
    assert_eq!(two.server_settings["b"], "x,y");
    assert_eq!(definition.engine, Engine::Instance);
    // Case two overrides every key that has a default.
    for key in KEYS
        .iter()
        .filter(|key| key.default.is_some())
        .filter(|key| !matches!(key.table, Table::Needs | Table::Top))
    {
        assert!(
            SMALL.contains(&format!("\n{} = ", key.name)),
            "{}",
            key.name
        );
    }
}

#[test]
fn shipped_experiments_say_what_the_articles_did() {
    for shipped in SHIPPED {
        assert_eq!(shipped.definition().unwrap().name, shipped.name);
    }
    let caging = find("binding-vs-caging").unwrap();
    let names: Vec<&str> = caging.cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "free",
            "caging",
            "quota",
            "binding",
            "binding-and-caging",
            "binding-and-quota",
            "binding-no-pressure",
            "binding-again"
        ]
    );
    let limit = Some(Quantity::Scaled(Scaled::Limit));
    let caged: Vec<bool> = caging
        .cases
        .iter()
        .map(|case| case.cpu_count == limit)
        .collect();
    assert_eq!(
        caged,
        [false, true, false, false, true, false, false, false]
    );
    let quotas = caging.cases.iter().map(|case| case.cpu_quota == limit);
    assert_eq!(
        quotas.collect::<Vec<bool>>(),
        [false, false, true, false, false, true, false, false]
    );
    let remote = &find("local-vs-remote").unwrap().cases[2];
    let farthest = Place::Symbol(Symbol::Farthest);
    assert_eq!(remote.memory_nodes, MemoryChoice::Only(farthest.clone()));
    assert_eq!(remote.allocation, AllocationChoice::Bind(farthest));
}

#[test]
fn an_unknown_experiment_names_the_nearest() {
    let names: Vec<&str> = SHIPPED.iter().map(|shipped| shipped.name).collect();
    let names = names.join(", ");
    assert_eq!(
        find("local-vs-remot").unwrap_err().to_string(),
        format!(
            "no experiment named \"local-vs-remot\"; known experiments: {names}; did you mean \
             `local-vs-remote`?"
        )
    );
}

#[test]
fn an_engine_is_a_word_of_its_table() {
    let postgres = SMALL.replacen("[load]", "engine = \"postgres\"\n\n[load]", 1);
    let definition = Definition::parse("mine.toml", &postgres).unwrap();
    assert_eq!(
        definition.engine,
        Engine::Server(ServerKind::named("postgres"))
    );
    let message = error("[load]", "engine = \"postgre\"\n\n[load]");
    assert!(message.contains("did you mean `postgres`?"), "{message}");
}

#[test]
fn unknown_keys_are_found_in_every_table() {
    assert_eq!(
        error("sessions = 4", "sesions = 4"),
        "mine.toml, line 8, [load]: expected one of the keys sessions, cpu-count, data, \
         update-pct, handicap, emulated-cost, work, kernel, work-unit, own-memory, \
         own-allocation, command, number, unit, better, begin, end, server, ready, client-cpus, \
         stealing, found \"sesions\"; did you mean `sessions`?"
    );
    assert!(error("name = \"mine\"", "nam = \"mine\"").starts_with(
        "mine.toml, line 2, the top of the file: expected one of the keys format, name, "
    ));
    assert!(error("cache = ", "caches = ").contains("line 20, [[case]]: expected one"));
    assert!(error("[load]", "[laod]").ends_with("did you mean `load`?"));
    assert!(error("[load]", "[needs]\ncpu = 2\n[load]").contains("did you mean `cpus`?"));
    assert!(error("[load]", "[sga]\nsize = \"1G\"\n[load]").contains("line 8, [sga]"));
    assert!(error("[load]", "[placement]\ncpu = \"0\"\n[load]").contains("[placement]"));
}

#[test]
fn missing_keys_are_named() {
    assert_eq!(
        error("question = \"Does it matter?\"\n", ""),
        "mine.toml, line 1, `question` in the top of the file: expected one line of at most \
         400 characters, found nothing"
    );
    assert_eq!(
        error("sessions = 4\n", ""),
        "mine.toml, line 9, `sessions` in [[case]]: expected a number from 1 to 8192, or one \
         of readers, reader-cpus, limit, local-readers, local-cpus, all-cpus, here or in \
         [load], found nothing"
    );
    assert!(error("about = \"The first.\"", "").contains("line 10, `about` in [[case]]"));
    let no_cases = &SMALL[..SMALL.find("[[case]]").unwrap()];
    let error = Definition::parse("mine.toml", no_cases)
        .unwrap_err()
        .to_string();
    assert!(error.contains("`case` in the top of the file: expected 1 to 64 tables"));
}

/// Checks rows of (old text, new text, part of the error), replaced in SMALL.
fn check_errors(rows: &[[&str; 3]]) {
    for [old, new, expected] in rows {
        let error = error(old, new);
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn wrong_types_say_what_was_expected() {
    check_errors(&[
        [
            "memory = false",
            "memory = 0",
            "expected true or false, found 0",
        ],
        ["sessions = 4", "sessions = 4.5", "found 4.5"],
        ["sessions = 4", "sessions = [4]", "found an array"],
        [
            "cpus = \"0-3\"",
            "cpus = 3",
            "`cpus` in [[case]]: expected inherited, one-core, ",
        ],
        ["[load]", "load = 3\n[lod]", "the top of the file"],
        // Case two overrides it, and case one does not use it.
        [
            "\n[load]",
            "[sga]\nbacking = 1\n[load]",
            "`backing` in [sga]: expected one of",
        ],
    ]);
}

#[test]
fn wrong_words_name_the_nearest() {
    check_errors(&[
        [
            "sessions = 4",
            "sessions = \"reader\"",
            "did you mean `readers`?",
        ],
        [
            "\"0-3\"",
            "\"frist-node:2\"",
            "did you mean `first-node:2`?",
        ],
        [
            "nodes = \"0\"",
            "nodes = \"furthest\"",
            "did you mean `farthest`?",
        ],
        ["\"sysv\"", "\"sysvv\"", "did you mean `sysv`?"],
        [
            "\"one\"\nasks",
            "\"on\"\nasks",
            "the name of a case: one, two, found \"on\"; did",
        ],
    ]);
}

#[test]
fn wrong_values_say_what_was_expected() {
    let two_names = "expected a unique name for each case";
    let allocations = "expected os-default, interleave:PLACE, weighted-interleave:PLACE, \
                       bind:PLACE, prefer:PLACE, per-node:PLACE where";
    check_errors(&[
        [
            "sessions = 4",
            "sessions = 0",
            "`sessions` in [load]: expected a number from 1",
        ],
        [
            "sessions = 4",
            "sessions = 4\ncpu-count = \"on\"",
            "`cpu-count` in [load]",
        ],
        ["cpus = \"0-3\"", "cpus = \"3-0\"", "found \"3-0\""],
        [
            "\"affinity\"",
            "\"cgroup\"",
            "expected one of auto, group, affinity",
        ],
        [
            "64MiB",
            "64 parsecs",
            "expected a size from 1 MiB to 16 TiB such as 256MiB",
        ],
        [
            "\"2MiB\"",
            "\"3MiB\"",
            "expected base, or a page size such as 4KiB, 2MiB or 1GiB",
        ],
        ["bind:0", "bind:", allocations],
        [
            "experiment/1",
            "experiment/2",
            "expected \"numalab.experiment/1\"",
        ],
        ["name = \"two\"", "name = \"one\"", two_names],
        [
            "name = \"mine\"",
            "name = \"../mine\"",
            "lower-case words with hyphens",
        ],
        ["Does it", "\\u001b[31m", "found \"\\u{1b}[31m matter?\""],
        [
            "[load]",
            "[needs]\ncpus = 0\n[load]",
            "a whole number of at least 1, found 0",
        ],
    ]);
}

#[test]
fn caging_that_never_bites_is_refused() {
    let text = SMALL.replace("sessions = \"readers\"", "sessions = 2");
    assert_eq!(
        Definition::parse("mine.toml", &text)
            .unwrap_err()
            .to_string(),
        "mine.toml, line 25, `cpu-count` in [[case]]: expected fewer than the 2 sessions \
         (otherwise caging has no effect), or \"off\", found 2"
    );
}

#[test]
fn text_that_is_not_toml_names_its_line() {
    assert_eq!(
        error("[load]", "[load"),
        "mine.toml, line 7: unclosed table, expected `]`"
    );
    assert!(error("[load]", "name = \"again\"\n[load]").starts_with("mine.toml, line 7: dupl"));
    let huge = "#".repeat(FILE_BYTES_MAX + 1);
    let error = Definition::parse("huge.toml", &huge).unwrap_err();
    assert_eq!(
        error.to_string(),
        "huge.toml, line 1: the file is larger than 1 MiB"
    );
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC*") {
        let _ = Definition::parse("any", &text);
    }

    #[test]
    fn no_text_of_toml_characters_panics(text in "[a-z\\[\\]={}\".,:0-9\n -]{0,200}") {
        let _ = Definition::parse("any", &text);
    }

    #[test]
    fn no_damaged_file_panics(
        cut in 0..SMALL.len(),
        length in 0usize..40,
        put in "[a-z\\[\\]={}\".,:0-9\n\\\\#é\u{7f} -]{0,12}",
    ) {
        let mut text = SMALL.to_owned();
        let end = (cut + length).min(text.len());
        text.replace_range(cut..end, &put);
        if let Err(error) = Definition::parse("any", &text) {
            let message = error.to_string();
            prop_assert!(message.starts_with("any, line "), "{}", message);
            prop_assert!(!message.chars().any(char::is_control), "{:?}", message);
        }
    }
}
