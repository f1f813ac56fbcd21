//! Reads a definition from the text of an experiment file.
//!
//! Values and their words are read by their own types; here is only which key holds what.

use std::collections::BTreeSet;

use model::Backing;

use super::experiment::{
    CaseDefinition, Definition, ENGINES, Engine, MECHANISMS, MechanismChoice, Needs,
};
use super::file::{Field, Section, Source};
use super::keys::{Table, default_of};
use super::load::{CACHED, DataSize, STEALINGS, WORKS};
use super::place::{CpuChoice, MemoryChoice, nearest_place};
use super::quantity::Quantity;
use super::sga::{
    AllocationChoice, BACKINGS, BEYOND_CACHES, CacheSize, PAGE_SIZE_EXPECTED, parse_page_bytes,
};
use super::vocabulary::{Word, names, nearest, value_of};
use crate::Error;
use crate::error::quoted;

/// The format this version reads.
pub(crate) const FORMAT: &str = "numalab.experiment/1";
/// The most cases one experiment may have.
const CASES_MAX: usize = 64;
/// The most characters of a name, and of a line for people.
const NAME_CHARS_MAX: usize = 40;
const LINE_CHARS_MAX: usize = 400;

impl Definition {
    /// Reads a definition. `file` is what messages call the text.
    pub fn parse(file: &str, text: &str) -> Result<Definition, Error> {
        let source = Source { file, text };
        let entries = source.parse()?;
        let top = Section::top(source, &entries)?;
        check_format(top)?;
        let cases = cases(top)?;
        Ok(Definition {
            name: name(top)?,
            question: line(top, "question")?,
            baseline: baseline(top, &cases)?,
            asks_about_memory: top
                .require("asks-about-memory", "true or false")?
                .boolean()?,
            engine: engine(top)?,
            needs: needs(top.section("needs", Table::Needs)?)?,
            cases,
            text: text.to_owned(),
        })
    }
}

fn check_format(top: Section<'_>) -> Result<(), Error> {
    let expected = format!("{FORMAT:?}");
    let field = top.require("format", &expected)?;
    if field.text(&expected)? == FORMAT {
        Ok(())
    } else {
        Err(field.wrong(&expected))
    }
}

fn baseline(top: Section<'_>, cases: &[CaseDefinition]) -> Result<String, Error> {
    let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    let expected = format!("the name of a case: {}", names.join(", "));
    let field = top.require("baseline", &expected)?;
    let name = field.text(&expected)?;
    if names.contains(&name) {
        Ok(name.to_owned())
    } else {
        Err(field.wrong_but(&expected, nearest(name, names).map(str::to_owned)))
    }
}

fn engine(top: Section<'_>) -> Result<Engine, Error> {
    let Some(field) = top.get("engine") else {
        return Ok(Engine::Instance);
    };
    let words = ENGINES.iter().map(|word| word.name);
    field.parsed(
        &format!("one of {}", names(ENGINES)),
        |text| value_of(ENGINES, text),
        |text| nearest(text, words).map(str::to_owned),
    )
}

fn needs(needs: Section<'_>) -> Result<Needs, Error> {
    let number = |key| match needs.get(key) {
        Some(field) => field
            .number()
            .filter(|number| *number >= 1)
            .ok_or_else(|| field.wrong("a whole number from 1")),
        None => Ok(1),
    };
    Ok(Needs {
        cpus: number("cpus")?,
        memory_nodes: number("memory-nodes")?,
    })
}

fn cases(top: Section<'_>) -> Result<Vec<CaseDefinition>, Error> {
    let defaults = CaseSections {
        case: top.without_entries(Table::Case),
        placement: top.section("placement", Table::Placement)?,
        sga: top.section("sga", Table::Sga)?,
        load: top.section("load", Table::Load)?,
    };
    // Defaults are read by the cases that use them, and here for those that none uses.
    defaults.check_values()?;
    let expected = format!("1 to {CASES_MAX} tables [[case]]");
    let field = top.require("case", &expected)?;
    let sections = field.sections(Table::Case)?;
    if sections.is_empty() || sections.len() > CASES_MAX {
        return Err(field.wrong(&expected));
    }
    let mut cases = Vec::new();
    let mut names = BTreeSet::new();
    for case in sections {
        let definition = CaseSections { case, ..defaults }.read()?;
        if !names.insert(definition.name.clone()) {
            let found = format!("{} twice", quoted(&definition.name));
            let expected = "a name of its own for each case";
            return Err(case.error(case.start(), "name", expected, found, None));
        }
        cases.push(definition);
    }
    Ok(cases)
}

/// A case, and the tables that hold what it does not say itself.
#[derive(Clone, Copy)]
struct CaseSections<'t> {
    case: Section<'t>,
    placement: Section<'t>,
    sga: Section<'t>,
    load: Section<'t>,
}

impl<'t> CaseSections<'t> {
    /// The field of a key, in the case or in the table of its default.
    fn get(&self, table: Table, key: &'static str) -> Option<Field<'t>> {
        let defaults = match table {
            Table::Placement => self.placement,
            Table::Sga => self.sga,
            _ => self.load,
        };
        self.case.get(key).or_else(|| defaults.get(key))
    }

    /// The value of a key whose values are texts; its default is read like any other.
    fn value<T>(
        &self,
        table: Table,
        key: &'static str,
        expected: &str,
        parse: impl FnOnce(&str) -> Option<T>,
        nearest: impl FnOnce(&str) -> Option<String>,
    ) -> Result<T, Error> {
        match self.get(table, key) {
            Some(field) => field.parsed(expected, parse, nearest),
            None => Ok(parse(default_of(table, key)).expect("a test reads every default")),
        }
    }

    /// The value of a key whose values are the words of a table.
    fn word<T: Copy>(
        &self,
        table: Table,
        key: &'static str,
        words: &[Word<T>],
    ) -> Result<T, Error> {
        self.value(
            table,
            key,
            &format!("one of {}", names(words)),
            |text| value_of(words, text),
            |text| nearest(text, words.iter().map(|word| word.name)).map(str::to_owned),
        )
    }

    fn sessions(&self) -> Result<Quantity, Error> {
        match self.get(Table::Load, "sessions") {
            Some(field) => quantity(field),
            None => {
                let expected = format!("{}, here or in [load]", Quantity::expected());
                let start = self.case.start();
                Err(self
                    .case
                    .error(start, "sessions", &expected, "nothing".to_owned(), None))
            }
        }
    }

    fn cpu_count(&self, sessions: Quantity) -> Result<Option<Quantity>, Error> {
        let Some(field) = self.get(Table::Load, "cpu-count") else {
            return Ok(None);
        };
        match (cpu_count(field)?, sessions) {
            (Some(Quantity::Number(count)), Quantity::Number(sessions)) if count >= sessions => {
                Err(field.wrong(&format!(
                    "fewer than the {sessions} sessions, or {OFF:?}: caging would do nothing"
                )))
            }
            (cpu_count, _) => Ok(cpu_count),
        }
    }

    fn cpus(&self) -> Result<CpuChoice, Error> {
        self.value(
            Table::Placement,
            "cpus",
            &CpuChoice::expected(),
            CpuChoice::parse,
            CpuChoice::nearest,
        )
    }

    fn prewarm_cpus(&self) -> Result<CpuChoice, Error> {
        self.value(
            Table::Sga,
            "prewarm-cpus",
            &CpuChoice::expected(),
            CpuChoice::parse,
            CpuChoice::nearest,
        )
    }

    fn cpu_quota(&self) -> Result<Option<Quantity>, Error> {
        let field = self.get(Table::Placement, "cpu-quota");
        field.map_or(Ok(None), cpu_count)
    }

    fn memory_nodes(&self) -> Result<MemoryChoice, Error> {
        self.value(
            Table::Placement,
            "memory-nodes",
            &MemoryChoice::expected(),
            MemoryChoice::parse,
            |text| nearest_place(text).map(str::to_owned),
        )
    }

    fn mechanism(&self) -> Result<MechanismChoice, Error> {
        self.word(Table::Placement, "mechanism", MECHANISMS)
    }

    fn cache(&self) -> Result<CacheSize, Error> {
        self.value(
            Table::Sga,
            "cache",
            &CacheSize::expected(),
            CacheSize::parse,
            |text| nearest(text, [BEYOND_CACHES]).map(str::to_owned),
        )
    }

    fn data(&self) -> Result<DataSize, Error> {
        self.value(
            Table::Load,
            "data",
            &DataSize::expected(),
            DataSize::parse,
            |text| nearest(text, [CACHED]).map(str::to_owned),
        )
    }

    fn update_pct(&self) -> Result<u32, Error> {
        let Some(field) = self.get(Table::Load, "update-pct") else {
            return Ok(0);
        };
        let number = field.number().filter(|number| *number <= 100);
        number.ok_or_else(|| field.wrong("a whole number from 0 to 100"))
    }

    fn backing(&self) -> Result<Backing, Error> {
        self.word(Table::Sga, "backing", BACKINGS)
    }

    fn page_bytes(&self) -> Result<u64, Error> {
        let expected = PAGE_SIZE_EXPECTED;
        self.value(Table::Sga, "page-size", expected, parse_page_bytes, |_| {
            None
        })
    }

    fn allocation(&self) -> Result<AllocationChoice, Error> {
        self.value(
            Table::Sga,
            "allocation",
            &AllocationChoice::expected(),
            AllocationChoice::parse,
            AllocationChoice::nearest,
        )
    }

    fn read(&self) -> Result<CaseDefinition, Error> {
        let sessions = self.sessions()?;
        Ok(CaseDefinition {
            name: name(self.case)?,
            about: line(self.case, "about")?,
            cpus: self.cpus()?,
            memory_nodes: self.memory_nodes()?,
            mechanism: self.mechanism()?,
            cpu_quota: self.cpu_quota()?,
            prewarm_cpus: self.prewarm_cpus()?,
            cache: self.cache()?,
            backing: self.backing()?,
            page_bytes: self.page_bytes()?,
            allocation: self.allocation()?,
            sessions,
            cpu_count: self.cpu_count(sessions)?,
            data: self.data()?,
            update_pct: self.update_pct()?,
            work: self.word(Table::Load, "work", WORKS)?,
            stealing: self.word(Table::Load, "stealing", STEALINGS)?,
        })
    }

    /// Reads every value and keeps none.
    fn check_values(&self) -> Result<(), Error> {
        self.cpus()?;
        self.memory_nodes()?;
        self.mechanism()?;
        self.cpu_quota()?;
        self.prewarm_cpus()?;
        self.cache()?;
        self.backing()?;
        self.page_bytes()?;
        self.allocation()?;
        self.data()?;
        self.update_pct()?;
        self.word(Table::Load, "work", WORKS)?;
        self.word(Table::Load, "stealing", STEALINGS)?;
        if let Some(field) = self.get(Table::Load, "sessions") {
            quantity(field)?;
        }
        if let Some(field) = self.get(Table::Load, "cpu-count") {
            cpu_count(field)?;
        }
        Ok(())
    }
}

/// The word for no instance caging.
const OFF: &str = "off";

fn cpu_count(field: Field<'_>) -> Result<Option<Quantity>, Error> {
    if field.text("").is_ok_and(|text| text == OFF) {
        return Ok(None);
    }
    quantity(field).map(Some)
}

/// A quantity: a whole number, or its name in quotes.
fn quantity(field: Field<'_>) -> Result<Quantity, Error> {
    if let Some(quantity) = field.number().and_then(Quantity::of_number) {
        return Ok(quantity);
    }
    field.parsed(&Quantity::expected(), Quantity::parse, |text| {
        Quantity::nearest(text).map(str::to_owned)
    })
}

/// A name: it becomes a directory, an argument, a column.
fn name(section: Section<'_>) -> Result<String, Error> {
    let expected = format!("lower-case words with hyphens, at most {NAME_CHARS_MAX} characters");
    let field = section.require("name", &expected)?;
    field.parsed(
        &expected,
        |text| is_name(text).then(|| text.to_owned()),
        |_| None,
    )
}

fn is_name(text: &str) -> bool {
    let of_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.len() <= NAME_CHARS_MAX
        && text.bytes().all(of_name)
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && !text.ends_with('-')
}

/// A line for people: it is printed, so it must not steer a terminal.
fn line(section: Section<'_>, key: &'static str) -> Result<String, Error> {
    let expected = format!("one line of at most {LINE_CHARS_MAX} characters");
    let is_line = |text: &str| {
        !text.trim().is_empty()
            && text.chars().count() <= LINE_CHARS_MAX
            && !text.chars().any(char::is_control)
    };
    let field = section.require(key, &expected)?;
    field.parsed(
        &expected,
        |text| is_line(text).then(|| text.to_owned()),
        |_| None,
    )
}

#[cfg(test)]
mod tests {
    use super::super::file::FILE_BYTES_MAX;
    use super::super::keys::KEYS;
    use super::super::place::{Place, Symbol};
    use super::super::quantity::Scaled;
    use super::super::shipped::{SHIPPED, find};
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
work = "logical-reads"
stealing = "free"
cpu-quota = 2
prewarm-cpus = "first-node"
"#;

    /// The error of SMALL with one text replaced by another.
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
        assert_eq!(one.page_bytes, 4096);
        assert_eq!(one.allocation, AllocationChoice::OsDefault);
        assert_eq!((one.sessions, one.cpu_count), (Quantity::Number(4), None));
        assert_eq!(definition.text, SMALL);
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
        assert_eq!(two.page_bytes, 2 << 20);
        assert_eq!(two.sessions, Quantity::Scaled(Scaled::Readers));
        assert_eq!(two.cpu_count, Some(Quantity::Number(2)));
        assert_eq!(two.data, DataSize::Bytes(2 << 30));
        assert_eq!((definition.cases[0].update_pct, two.update_pct), (0, 30));
        assert_eq!(two.cpu_quota, Some(Quantity::Number(2)));
        assert_eq!(
            two.prewarm_cpus,
            CpuChoice::All(Place::Symbol(Symbol::FirstNode))
        );
        assert_eq!(definition.engine, Engine::Instance);
        // Every key that has a default was overridden by case two.
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
                "binding",
                "binding-and-caging",
                "binding-no-pressure"
            ]
        );
        let limit = Some(Quantity::Scaled(Scaled::Limit));
        let caged: Vec<bool> = caging
            .cases
            .iter()
            .map(|case| case.cpu_count == limit)
            .collect();
        assert_eq!(caged, [false, true, false, true, false]);
        let remote = &find("local-vs-remote").unwrap().cases[1];
        let farthest = Place::Symbol(Symbol::Farthest);
        assert_eq!(remote.memory_nodes, MemoryChoice::Only(farthest.clone()));
        assert_eq!(remote.allocation, AllocationChoice::Bind(farthest));
    }

    #[test]
    fn an_unknown_experiment_names_the_nearest() {
        assert_eq!(
            find("local-vs-remot").unwrap_err().to_string(),
            "no experiment is named \"local-vs-remot\"; there are binding-vs-caging, huge-pages, \
             local-vs-remote, parallel-scan, postgres-binding-vs-quota, postgres-huge-pages, \
             postgres-local-vs-remote, postgres-shared-buffers, sga-allocation; did you mean \
             `local-vs-remote`?"
        );
    }

    #[test]
    fn an_engine_is_a_word_of_its_table() {
        let postgres = SMALL.replacen("[load]", "engine = \"postgres\"\n\n[load]", 1);
        let definition = Definition::parse("mine.toml", &postgres).unwrap();
        assert_eq!(definition.engine, Engine::Postgres);
        let message = error("[load]", "engine = \"postgre\"\n\n[load]");
        assert!(message.contains("did you mean `postgres`?"), "{message}");
    }

    #[test]
    fn unknown_keys_are_found_in_every_table() {
        assert_eq!(
            error("sessions = 4", "sesions = 4"),
            "mine.toml, line 8, [load]: expected only the keys sessions, cpu-count, data, \
             update-pct, work, stealing, found \"sesions\"; did you mean `sessions`?"
        );
        assert!(error("name = \"mine\"", "nam = \"mine\"").starts_with(
            "mine.toml, line 2, the top of the file: expected only the keys format, name, "
        ));
        assert!(error("cache = ", "caches = ").contains("line 20, [[case]]: expected only"));
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

    /// Rows of what is replaced in SMALL, by what, and a part of the error.
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
                "`cpus` in [[case]]: expected inherited, all, ",
            ],
            ["[load]", "load = 3\n[lod]", "the top of the file"],
            // Case two overrides it, case one does not use it.
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
        let two_names = "expected a name of its own for each case";
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
                "expected a page size such as 4KiB, 2MiB or 1GiB",
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
                "a whole number from 1, found 0",
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
            "mine.toml, line 25, `cpu-count` in [[case]]: expected fewer than the 2 sessions, or \
             \"off\": caging would do nothing, found 2"
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
            "huge.toml, line 1: the file has more than 1 MiB"
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
}
