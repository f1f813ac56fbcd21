//! The capabilities that each command needs if an ordinary user runs it, on two nodes: with exactly
//! these it works on other users' processes, groups and settings, and without one of them it says
//! which one is missing. docs/security.md has the same table.
//!
//! Tests of linux, placement, relocation.

use testing::reports::ARTICLE_001;

use super::holders::Holders;
use crate::experiment_file::ExperimentFile;
use crate::laboratory::Laboratory;
use crate::unmet_need::is_guest;
use crate::user::{NOBODY, User};

/// One command: as in docs/security.md, as it is run, and what it needs.
#[derive(Clone, Copy)]
struct Row {
    command: &'static str,
    /// Which use of it, if some uses need more.
    remark: &'static str,
    words: &'static str,
    /// Names as in setpriv(1).
    capabilities: &'static [&'static str],
    /// How it ends without one of them.
    lacking: &'static [(&'static str, Lacking)],
    /// Whether it sees everything with all of them, and says so.
    is_complete: bool,
}

/// How a command ends that lacks a capability: its exit code, and whether it names what is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Lacking(i32, bool);

const UNNOTICED: Lacking = Lacking(0, false);
const REFUSED: Lacking = Lacking(4, true);

const fn free(command: &'static str, words: &'static str) -> Row {
    privileged(command, words, &[], &[])
}

const fn privileged(
    command: &'static str,
    words: &'static str,
    capabilities: &'static [&'static str],
    lacking: &'static [(&'static str, Lacking)],
) -> Row {
    Row {
        command,
        remark: "",
        words,
        capabilities,
        lacking,
        is_complete: false,
    }
}

/// Returns the row of a command that writes files of the kernel, which belong to root.
const fn writing(command: &'static str, words: &'static str) -> Row {
    privileged(
        command,
        words,
        &["dac_override"],
        &[("dac_override", REFUSED)],
    )
}

const MOVE: &[&str] = &[
    "sys_ptrace",
    "dac_read_search",
    "checkpoint_restore",
    "sys_nice",
];

const BALANCE: &[&str] = &["sys_ptrace", "dac_read_search", "checkpoint_restore"];

/// The commands about the machine, experiments and runs, in an order in which each finds what it
/// needs.
const RUNS: &[Row] = &[
    free("topology", "topology"),
    free("list", "list"),
    free(
        "latency",
        "latency --nodes 0 --rounds 1 --within 100 --anyway",
    ),
    free(
        "bandwidth",
        "bandwidth --nodes 0 --rounds 1 --within 100 --anyway",
    ),
    free("firmware", "firmware --from ../latencies.txt"),
    privileged(
        "firmware --early-initrd FILE",
        "firmware --from ../latencies.txt --early-initrd early.cpio",
        &["dac_read_search"],
        &[("dac_read_search", REFUSED)],
    ),
    free("run EXPERIMENT", "run ../affinity.toml --trials 5"),
    writing("run EXPERIMENT", "run ../group.toml --trials 5")
        .of("cases in processor groups or with a quota"),
    free("history", "history"),
    free("import csv FILE", "import csv ../figures.csv"),
    // The commands below are about this run.
    free("import awr FILE", "import awr ../one.txt ../other.txt"),
    free("show RUN", "show last"),
    free("report RUN", "report last --html -"),
    free("explain RUN", "explain last"),
    free("compare RUN RUN", "compare last last"),
    free("metrics", "metrics"),
    free("targets", "targets"),
    free("serve", "serve --listen 127.0.0.1:0"),
    privileged(
        "serve",
        "serve --listen 127.0.0.1:443",
        &["net_bind_service"],
        &[("net_bind_service", REFUSED)],
    )
    .of("on a port below 1024"),
];

/// The commands that look at the machine and at processes of others.
const LOOKS: &[Row] = &[
    free("doctor", "doctor"),
    privileged(
        "doctor TARGET",
        "doctor $pid",
        &["sys_ptrace"],
        &[("sys_ptrace", REFUSED)],
    ),
    privileged(
        "inspect TARGET",
        "inspect $pid --json",
        &["sys_ptrace"],
        &[("sys_ptrace", REFUSED)],
    ),
    Row {
        is_complete: true,
        remark: "exact figures",
        ..privileged(
            "inspect TARGET",
            "inspect $pid --json",
            &["sys_ptrace", "sys_admin", "dac_read_search"],
            &[("sys_admin", UNNOTICED), ("dac_read_search", REFUSED)],
        )
    },
    Row {
        is_complete: true,
        ..privileged(
            "inspect TARGET --data-files",
            "inspect $pid --data-files --json",
            &["sys_ptrace", "sys_admin", "dac_read_search", "fowner"],
            &[("fowner", UNNOTICED)],
        )
    },
    privileged(
        "firsttouch -- COMMAND",
        "firsttouch -- true",
        &["sys_admin"],
        &[("sys_admin", REFUSED)],
    ),
    privileged(
        "firsttouch TARGET",
        "firsttouch $pid --for 1s",
        &["sys_admin", "sys_ptrace"],
        &[("sys_admin", REFUSED), ("sys_ptrace", REFUSED)],
    ),
    free("watch", "watch --once"),
    privileged(
        "watch TARGET",
        "watch $pid --once",
        &["sys_ptrace"],
        &[("sys_ptrace", Lacking(0, true))],
    ),
    free("capture FILE", "capture machine.tar.zst"),
    privileged(
        "capture FILE TARGET",
        "capture database.tar.zst $pid",
        &["sys_ptrace"],
        &[("sys_ptrace", REFUSED)],
    ),
];

/// The commands that place or change something, in such an order.
const CHANGES: &[Row] = &[
    free("bind -- COMMAND", "bind -N 1 -m 1 -- true"),
    writing(
        "bind --cpu-limit N -- COMMAND",
        "bind --cpu-limit 0.5 -- true",
    ),
    writing("group create NAME", "group create it -N 1 -m 0-1"),
    writing("group add NAME PID", "group add it $pid"),
    free("group list", "group list"),
    writing("bind --group NAME -- COMMAND", "bind --group it -- true"),
    writing("undo", "undo").of("of a group"),
    free("pages", "pages"),
    writing("pages --set NODE=COUNT", "pages --set 1=7"),
    writing("undo", "undo").of("of a setting"),
    privileged(
        "move TARGET",
        "move $pid --to 1 --shared",
        MOVE,
        &[
            ("sys_ptrace", REFUSED),
            ("dac_read_search", REFUSED),
            ("checkpoint_restore", REFUSED),
            ("sys_nice", Lacking(6, true)),
        ],
    ),
    privileged(
        "balance TARGET",
        "balance $pid --for 1",
        BALANCE,
        &[
            ("sys_ptrace", REFUSED),
            ("dac_read_search", REFUSED),
            ("checkpoint_restore", REFUSED),
        ],
    ),
    privileged("undo", "undo", MOVE, &[("sys_ptrace", REFUSED)]).of("of a move"),
    privileged(
        "try TARGET",
        "try $pid --to 1 --metric file:/proc/self/schedstat --by rate --window 1 --for 60",
        MOVE,
        &[
            ("sys_ptrace", REFUSED),
            ("dac_read_search", REFUSED),
            ("checkpoint_restore", REFUSED),
        ],
    )
    .of("of memory"),
    privileged(
        "try TARGET",
        "try $pid --to cpus:2 --metric file:/proc/self/schedstat --by rate --window 1 --for 60",
        &["sys_nice"],
        &[("sys_nice", REFUSED)],
    )
    .of("of CPUs"),
    free("undo --list", "undo --list"),
];

impl Row {
    const fn of(self, remark: &'static str) -> Self {
        Row { remark, ..self }
    }

    fn title(&self) -> String {
        match self.remark {
            "" => format!("`{}`", self.command),
            remark => format!("`{}`, {remark}", self.command),
        }
    }
}

/// An ordinary user, and processes of another one that hold shared memory on node 0.
struct Stranger {
    laboratory: Laboratory,
    holders: Holders,
}

impl Stranger {
    fn new() -> Self {
        let laboratory = Laboratory::of(NOBODY);
        let another = User(1).launcher();
        let mut launcher: Vec<&str> = another.iter().map(String::as_str).collect();
        launcher.extend(["numactl", "--membind=0"]);
        let holders = Holders::behind(&laboratory, &launcher, 8, "memfd");
        Stranger {
            laboratory,
            holders,
        }
    }

    /// Asserts that each command works with exactly its capabilities; first it runs without single
    /// ones, so that nothing is changed yet.
    fn works_with(&self, rows: &[Row]) {
        for row in rows {
            for (name, expected) in row.lacking {
                let names = row.capabilities.iter().copied();
                let names: Vec<_> = names.filter(|it| it != name).collect();
                let (code, said) = self.run(row, &names);
                let is_named = said.to_lowercase().contains(&format!("cap_{name}"));
                let found = Lacking(code, is_named);
                assert_eq!(found, *expected, "{} without {name}: {said}", row.title());
            }
            let (code, said) = self.run(row, row.capabilities);
            let is_complete = said
                .lines()
                .any(|it| it.starts_with("  \"complete\": true"));
            let found = (code, is_complete);
            assert_eq!(found, (0, row.is_complete), "{}: {said}", row.title());
            let warns = said.lines().any(|it| it.starts_with("numalab: "));
            assert!(!warns, "{} warns: {said}", row.title());
        }
        self.laboratory.nothing_is_left();
    }

    /// Runs it with these capabilities alone; returns its exit code and what it says.
    fn run(&self, row: &Row, names: &[&str]) -> (i32, String) {
        let words = [NOBODY.launcher(), User::capabilities(names).into()].concat();
        let words = format!("{} numalab {}", words.join(" "), row.words);
        let pid = &self.holders.pid;
        // A server ends only when it is asked to; its status is then its own.
        let end = match row.words.starts_with("serve ") {
            true => {
                "until grep -q 127.0.0.1 ../said || ! kill -0 $!; do sleep 0.1; done
                 kill $!"
            }
            false => "",
        };
        let script = format!(
            "cd state; pid={pid}
             {words} >../said 2>&1 & {end}
             wait $!; status=$?; cat ../said; exit $status"
        );
        let finished = self.laboratory.script(&script);
        (finished.status.code().unwrap(), finished.stdout)
    }
}

#[test]
fn runs_need_the_capabilities_that_are_listed() {
    if !is_guest("runs_need_the_capabilities_that_are_listed", "two-node") {
        return;
    }
    let stranger = Stranger::new();
    for mechanism in ["affinity", "group"] {
        let load = "[load]\nwork = \"command\"";
        // The same number in all cases would be an error.
        let on = |cpus| {
            let command = format!("command = \"echo 1{cpus}\"");
            format!("{command}\ncpus = \"{cpus}\"\nmechanism = \"{mechanism}\"")
        };
        let experiment = ExperimentFile::new("one", load)
            .case("one", &on(0))
            .case("other", &on(2));
        let name = format!("{mechanism}.toml");
        stranger.laboratory.file(&name, experiment.text());
    }
    let latencies = "50 100\n100 50\n";
    stranger.laboratory.file("latencies.txt", latencies);
    let figures = "case,figure\na,1\nb,2\n";
    stranger.laboratory.file("figures.csv", figures);
    for (name, report) in ["one.txt", "other.txt"].into_iter().zip(ARTICLE_001) {
        stranger.laboratory.file(name, report);
    }
    stranger.works_with(RUNS);
}

#[test]
fn looks_need_the_capabilities_that_are_listed() {
    if !is_guest("looks_need_the_capabilities_that_are_listed", "two-node") {
        return;
    }
    Stranger::new().works_with(LOOKS);
}

#[test]
fn changes_need_the_capabilities_that_are_listed() {
    if !is_guest("changes_need_the_capabilities_that_are_listed", "two-node") {
        return;
    }
    Stranger::new().works_with(CHANGES);
}

fn rows() -> impl Iterator<Item = &'static Row> {
    [RUNS, LOOKS, CHANGES].into_iter().flatten()
}

#[test]
fn the_page_on_security_has_every_command_with_its_capabilities() {
    let row = |row: &Row| {
        let names = row.capabilities.iter();
        let names = names.map(|name| format!("`CAP_{}`", name.to_uppercase()));
        let names: Vec<_> = names.collect();
        let needed = match names.is_empty() {
            true => "none".to_owned(),
            false => names.join(", "),
        };
        format!("| {} | {needed} |", row.title())
    };
    let rows: Vec<String> = rows().map(row).collect();
    testing::Page::read("docs/security.md").check_rows("| command | capabilities |", &rows);
}

#[test]
fn what_a_command_lacks_is_one_of_its_capabilities() {
    for row in rows() {
        for (name, _) in row.lacking {
            assert!(row.capabilities.contains(name), "{}: {name}", row.command);
        }
    }
}
