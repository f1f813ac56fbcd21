//! The capabilities that each command needs if an ordinary user runs it, on two nodes: with exactly
//! these it works on other users' processes, groups and settings, and without one of them it says
//! which one is missing. docs/security.md has the same table.

use anyhow::Result;

use super::check::{Answers, Check, Complaints, GuestCommand, shell};
use super::inspect::PROGRAM;
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check.
pub(super) const CHECK: Check = Check {
    name: "capabilities",
    applies_to: |shape| shape.name == "two-node",
    cgroup: CgroupVersion::V2,
    seconds: 270,
    commands,
    judge,
};

/// One command: as in docs/security.md, as it is run, and what it needs.
struct Row {
    command: &'static str,
    /// Which use of it, if some uses need more.
    remark: &'static str,
    words: &'static str,
    /// Names as in setpriv(1).
    capabilities: &'static [&'static str],
    /// The expected result without some of them.
    lacking: &'static [(&'static str, &'static str)],
    /// The expected result with all of them.
    answer: &'static str,
}

const OK: &str = "0";
const REFUSED: &str = "4, named";

const fn free(command: &'static str, words: &'static str) -> Row {
    Row {
        command,
        remark: "",
        words,
        capabilities: &[],
        lacking: &[],
        answer: OK,
    }
}

const fn privileged(
    command: &'static str,
    words: &'static str,
    capabilities: &'static [&'static str],
    lacking: &'static [(&'static str, &'static str)],
) -> Row {
    Row {
        command,
        remark: "",
        words,
        capabilities,
        lacking,
        answer: OK,
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

/// Every command, in an order in which each finds what it needs.
const ROWS: &[Row] = &[
    free("topology", "topology"),
    free("list", "list"),
    free(
        "latency",
        "latency --nodes 0 --rounds 1 --within 1 --anyway",
    ),
    free(
        "bandwidth",
        "bandwidth --nodes 0 --rounds 1 --within 1 --anyway",
    ),
    free("firmware", "firmware --from /tmp/latencies.txt"),
    privileged(
        "firmware --early-initrd FILE",
        "firmware --from /tmp/latencies.txt --early-initrd /tmp/nobody/early.cpio",
        &["dac_read_search"],
        &[("dac_read_search", REFUSED)],
    ),
    free("run EXPERIMENT", "run /tmp/affinity.toml --trials 5"),
    writing("run EXPERIMENT", "run /tmp/group.toml --trials 5")
        .of("cases in processor groups or with a quota"),
    free("history", "history"),
    free("import csv FILE", "import csv /tmp/figures.csv"),
    // The commands below are about this run.
    free("import awr FILE", "import awr /tmp/one.txt /tmp/other.txt"),
    free("show RUN", "show last"),
    free("report RUN", "report last --html -"),
    free("explain RUN", "explain last"),
    free("compare RUN RUN", "compare last last"),
    free("metrics", "metrics"),
    free("serve", "serve --listen 127.0.0.1:0"),
    privileged(
        "serve",
        "serve --listen 127.0.0.1:443",
        &["net_bind_service"],
        &[("net_bind_service", REFUSED)],
    )
    .of("on a port below 1024"),
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
        answer: "0, complete",
        remark: "exact figures",
        ..privileged(
            "inspect TARGET",
            "inspect $pid --json",
            &["sys_ptrace", "sys_admin", "dac_read_search"],
            &[("sys_admin", OK), ("dac_read_search", REFUSED)],
        )
    },
    Row {
        answer: "0, complete",
        ..privileged(
            "inspect TARGET --data-files",
            "inspect $pid --data-files --json",
            &["sys_ptrace", "sys_admin", "dac_read_search", "fowner"],
            &[("fowner", OK)],
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
        &[("sys_ptrace", "0, named")],
    ),
    free("capture FILE", "capture machine.tar.zst"),
    privileged(
        "capture FILE TARGET",
        "capture database.tar.zst $pid",
        &["sys_ptrace"],
        &[("sys_ptrace", REFUSED)],
    ),
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
            ("sys_nice", "6, named"),
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
    free("undo --list", "undo --list"),
];

/// Reports to import: only success matters here.
const REPORTS: [(&str, &str); 2] = [
    (
        "one",
        include_str!("../../../crates/base/testing/reports/article-001-test1.txt"),
    ),
    (
        "other",
        include_str!("../../../crates/base/testing/reports/article-001-test2.txt"),
    ),
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

    /// Returns its script: first it runs without single capabilities, so that nothing is changed
    /// yet.
    fn script(&self) -> String {
        let (title, words) = (self.title(), self.words);
        let names = self.capabilities.join(" ");
        let lacking = self.lacking.iter();
        let mut script: String = lacking
            .map(|(name, _)| format!("lacking '{title}' {name} '{names}' numalab {words}\n"))
            .collect();
        script.push_str(&format!("whole '{title}' '{names}' numalab {words}\n"));
        script
    }

    fn lines(&self) -> String {
        let title = self.title();
        let lacking = self.lacking.iter();
        let mut lines: String = lacking
            .map(|(name, answer)| format!("{title} without {name}: {answer}\n"))
            .collect();
        lines.push_str(&format!("{title}: {}\n", self.answer));
        lines
    }
}

fn commands(_: &Shape) -> Vec<GuestCommand> {
    let file = |name: &str, text: &str| format!("cat >/tmp/{name} <<'END'\n{text}\nEND\n");
    let mut script = file("shared_memory.py", PROGRAM);
    for (name, text) in REPORTS {
        script.push_str(&file(&format!("{name}.txt"), text));
    }
    script.push_str(include_str!("capabilities.sh"));
    script.extend(ROWS.iter().map(Row::script));
    script.push_str("kill $pid $(ps -o pid= --ppid $pid)\n");
    vec![shell("every command", &script)]
}

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    let expected: String = ROWS.iter().map(Row::lines).collect();
    complaints.expect_lines("capabilities", answers.text("every command")?, &expected);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::ROWS;

    #[test]
    fn the_page_on_security_has_every_command_with_its_capabilities() {
        let rows: Vec<String> = ROWS
            .iter()
            .map(|row| {
                let names = row.capabilities.iter();
                let names: Vec<String> = names
                    .map(|name| format!("`CAP_{}`", name.to_uppercase()))
                    .collect();
                let needed = match names.is_empty() {
                    true => "none".to_owned(),
                    false => names.join(", "),
                };
                format!("| {} | {needed} |", row.title())
            })
            .collect();
        let page = testing::Page::read("docs/security.md");
        page.check_rows("| command | capabilities |", &rows);
    }

    #[test]
    fn what_a_command_lacks_is_one_of_its_capabilities() {
        for row in ROWS {
            for (name, _) in row.lacking {
                assert!(row.capabilities.contains(name), "{}: {name}", row.command);
            }
        }
    }
}
