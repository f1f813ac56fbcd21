//! The keys of an experiment file: the single table from which parsing, messages and documents
//! derive.

/// A table of an experiment file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    /// The keys at the top of the file.
    Top,
    /// `[needs]`: the minimum machine.
    Needs,
    /// `[placement]`: defaults of every case.
    Placement,
    /// `[sga]`: defaults of every case.
    Sga,
    /// `[load]`: defaults of every case.
    Load,
    /// `[[case]]`: its own keys, and all keys of `[placement]`, `[sga]` and `[load]`.
    Case,
}

impl Table {
    /// All tables, in the order in which documents list them.
    pub const ALL: [Table; 6] = [
        Table::Top,
        Table::Needs,
        Table::Placement,
        Table::Sga,
        Table::Load,
        Table::Case,
    ];

    /// Returns the table as it is written in a file.
    pub fn name(self) -> &'static str {
        match self {
            Table::Top => "the top of the file",
            Table::Needs => "[needs]",
            Table::Placement => "[placement]",
            Table::Sga => "[sga]",
            Table::Load => "[load]",
            Table::Case => "[[case]]",
        }
    }

    /// Returns whether `key` is allowed in this table.
    pub fn allows(self, key: &Key) -> bool {
        let is_default_of_cases = matches!(key.table, Table::Placement | Table::Sga | Table::Load);
        key.table == self || (self == Table::Case && is_default_of_cases)
    }
}

/// One key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// The table it belongs to.
    pub table: Table,
    /// Its name.
    pub name: &'static str,
    /// Its default; `None` for a required key.
    pub default: Option<&'static str>,
    /// Its meaning, as a sentence fragment.
    pub about: &'static str,
}

const fn key(
    table: Table,
    name: &'static str,
    default: Option<&'static str>,
    about: &'static str,
) -> Key {
    Key {
        table,
        name,
        default,
        about,
    }
}

/// All keys. The top level of a file holds the keys of [`Table::Top`] and the other tables.
pub(crate) const KEYS: &[Key] = &[
    key(Table::Top, "format", None, "always `numalab.experiment/1`"),
    key(Table::Top, "name", None, "lower-case words with hyphens"),
    key(
        Table::Top,
        "question",
        None,
        "the question the experiment answers, one line",
    ),
    key(
        Table::Top,
        "baseline",
        None,
        "name of the case to compare the others with",
    ),
    key(
        Table::Top,
        "asks-about-memory",
        None,
        "true if the cases differ in memory placement, which an emulated machine cannot compare: \
         its nodes are equally far",
    ),
    key(
        Table::Needs,
        "cpus",
        Some("1"),
        "CPUs the machine must have",
    ),
    key(
        Table::Needs,
        "memory-nodes",
        Some("1"),
        "nodes with memory the machine must have",
    ),
    key(
        Table::Top,
        "engine",
        Some("instance"),
        "what reads: the embedded instance or a database server",
    ),
    key(
        Table::Placement,
        "cpus",
        Some("inherited"),
        "CPUs the sessions may use: a place, or a place, a colon and a quantity",
    ),
    key(
        Table::Placement,
        "memory-nodes",
        Some("inherited"),
        "nodes the processes may take memory from: a place",
    ),
    key(
        Table::Placement,
        "mechanism",
        Some("auto"),
        "how to apply the placement",
    ),
    key(
        Table::Placement,
        "cpu-quota",
        Some("off"),
        "kernel CPU quota for all processes, in CPUs: a quantity, or `off`",
    ),
    key(
        Table::Sga,
        "cache",
        Some("beyond-caches"),
        "size of the buffer cache; `beyond-caches` is 64 MiB, or four times the last-level caches \
         of first-node if that is more; 256 MiB if their size is unknown. For rows in the embedded \
         instance, of which reads use a 32nd, it is up to 32 times as large, at most 2 GiB and an \
         eighth of the memory available on first-node and to the control group, unless a case of \
         the experiment has huge pages or /dev/shm",
    ),
    key(
        Table::Sga,
        "backing",
        Some("memfd"),
        "the kind of shared memory",
    ),
    key(
        Table::Sga,
        "page-size",
        Some("base"),
        "size of its pages, `base` for that of this machine's base pages; the pool must already \
         have the huge pages",
    ),
    key(
        Table::Sga,
        "allocation",
        Some("os-default"),
        "which nodes hold its pages",
    ),
    key(
        Table::Sga,
        "prewarm-cpus",
        Some("inherited"),
        "CPUs of the session that loads and prewarms the tables, a place; for servers",
    ),
    key(
        Table::Sga,
        "moved-to",
        Some("os-default"),
        "where the memory of a server is moved once its tables are loaded, as `numalab move` does: \
         like `allocation`; `os-default` leaves it",
    ),
    key(
        Table::Sga,
        "server-settings",
        Some("none"),
        "settings that a server is started with, as `NAME=VALUE` with spaces between them, beside \
         those that numalab needs; `{PLACE}` in a value is the list of its CPUs",
    ),
    key(
        Table::Load,
        "sessions",
        None,
        "number of sessions, each a process: a quantity",
    ),
    key(
        Table::Load,
        "cpu-count",
        Some("off"),
        "instance caging, the sessions that may run at once: a quantity, or `off`",
    ),
    key(
        Table::Load,
        "data",
        Some("cached"),
        "size of tables and indexes: `cached` is as much as the buffer cache holds; sessions read \
         the rest from a data file",
    ),
    key(
        Table::Load,
        "update-pct",
        Some("0"),
        "percentage of statements that update the rows they read; each row counts its updates, \
         and the data file must contain them all at the end",
    ),
    key(
        Table::Load,
        "handicap",
        Some("0 %"),
        "share of the statements that sessions repeat without counting them: a difference of \
         known size, to test whether a run detects it",
    ),
    key(
        Table::Load,
        "emulated-cost",
        Some("off"),
        "what a read of a block costs, in ns, by a table: a row for the node of the session, a \
         column for the node of the block, as in \"0 2000; 2000 0\", or one row with the cost of a \
         local and of a remote read; never a claim about hardware",
    ),
    key(
        Table::Load,
        "work",
        Some("logical-reads"),
        "what the sessions do; the same in all cases of an experiment",
    ),
    key(
        Table::Load,
        "kernel",
        Some("read"),
        "what the threads of a `stream` do with their memory",
    ),
    key(
        Table::Load,
        "work-unit",
        Some("calibrated"),
        "rows per statement; `calibrated` is the fewest that measure memory instead of statement \
         overhead",
    ),
    key(
        Table::Load,
        "own-memory",
        Some("beyond-caches"),
        "size of each session's own memory, or of its file, for `memory-hammer`, `compute` and \
         `shm-fill`, and of the memory of `pointer-chase` and of each thread of `stream`; \
         `beyond-caches` is the session's share of what a cache would be, at least \
         32 MiB",
    ),
    key(
        Table::Load,
        "own-allocation",
        Some("os-default"),
        "which nodes hold it",
    ),
    key(
        Table::Load,
        "command",
        Some(""),
        "the command line of `command`, for `sh -c`; it starts under the placement, with \
         own-allocation as its memory policy",
    ),
    key(
        Table::Load,
        "number",
        Some("last"),
        "where to find the number in its output",
    ),
    key(
        Table::Load,
        "unit",
        Some("reported"),
        "the unit of the number, as reports show it",
    ),
    key(
        Table::Load,
        "better",
        Some("more"),
        "whether more or less is better",
    ),
    key(
        Table::Load,
        "begin",
        Some(""),
        "an expression; from the first line of the output that it matches until `end`, the number \
         of `command` was counted, and is divided by these seconds",
    ),
    key(
        Table::Load,
        "end",
        Some(""),
        "an expression; the first line after `begin` that it matches ends what is counted",
    ),
    key(
        Table::Load,
        "server",
        Some(""),
        "a command line for `sh -c` that starts a server for each trial; the placement, \
         own-allocation and cpu-quota are then the server's, and `command` is the load on it",
    ),
    key(
        Table::Load,
        "ready",
        Some(""),
        "a command line for `sh -c` that succeeds as soon as the server answers; tried every \
         0.1 s, for two minutes",
    ),
    key(
        Table::Load,
        "client-cpus",
        Some("inherited"),
        "CPUs of `command` and `ready` where there is a server: a place, or a place, a colon and \
         a quantity",
    ),
    key(
        Table::Load,
        "stealing",
        Some("after-local"),
        "whether the workers of a parallel scan take granules of other nodes",
    ),
    key(Table::Case, "name", None, "lower-case words with hyphens"),
    key(Table::Case, "about", None, "what this case is, one line"),
];

/// The tables allowed at the top level of a file.
pub(crate) const TABLE_KEYS: [&str; 5] = ["needs", "placement", "sga", "load", "case"];

/// Returns the names of the keys allowed in `table`.
pub(crate) fn names_in(table: Table) -> Vec<&'static str> {
    let allowed = KEYS.iter().filter(|key| table.allows(key));
    let mut names: Vec<&str> = allowed.map(|key| key.name).collect();
    if table == Table::Top {
        names.extend(TABLE_KEYS);
    }
    names
}

/// Returns the default of a key that has one, as a file would write it.
pub(crate) fn default_of(table: Table, name: &str) -> &'static str {
    KEYS.iter()
        .find(|key| key.table == table && key.name == name)
        .and_then(|key| key.default)
        .expect("only keys with a default are read without being required")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_table_allows_two_keys_of_one_name() {
        for table in Table::ALL {
            let mut names = names_in(table);
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{}", table.name());
        }
    }

    #[test]
    fn a_case_may_set_what_it_has_defaults_for() {
        let names = names_in(Table::Case);
        for name in [
            "name",
            "about",
            "cpus",
            "memory-nodes",
            "cache",
            "sessions",
            "cpu-count",
        ] {
            assert!(names.contains(&name), "{name}");
        }
        assert!(!names.contains(&"format"));
    }
}
