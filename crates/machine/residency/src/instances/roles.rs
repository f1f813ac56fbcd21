//! What a thread or a process of a database does, by the name that it gives itself: one table of
//! patterns, with the source of each. The kernel keeps 15 bytes of a name (`comm`), so the patterns
//! are as long as that at most.

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoleRow {
    /// The server whose threads have such names.
    pub server: Server,
    /// The names.
    pub pattern: Pattern,
    /// What such a thread does.
    pub role: &'static str,
    /// Whether it reads or writes files or sockets for other threads.
    pub does_io: bool,
    /// Where this is known from: `seen` with the version that was run, a file of the source, or the
    /// documentation.
    pub source: &'static str,
}

/// How a row matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// The title of a process of PostgreSQL (its words after `postgres: `) begins with these words.
    Title(&'static str),
    /// The first thread of a process.
    First,
    /// Another thread with the name of the first: it has been given none.
    Unnamed,
    /// `comm` is this.
    Is(&'static str),
    /// `comm` begins with this.
    Starts(&'static str),
}

/// A server, or what any program may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// PostgreSQL: one process for each session.
    PostgreSql,
    /// MariaDB and MySQL.
    MariaDb,
    /// Valkey and Redis.
    Valkey,
    /// MongoDB.
    MongoDb,
    /// ClickHouse.
    ClickHouse,
    /// Oracle: one process for each session, or threads (`threaded_execution`).
    Oracle,
    /// Threads that the kernel makes in any program.
    Any,
}

impl Server {
    /// Every server, its name, the names of its programs, and what a target of it begins with where
    /// it is found by port or data directory.
    pub const TABLE: [ServerRow; 7] = [
        (
            Server::PostgreSql,
            "PostgreSQL",
            &["postgres", "postmaster"],
            &[],
        ),
        (
            Server::MariaDb,
            "MariaDB, MySQL",
            &["mariadbd", "mysqld"],
            &["mysql", "mariadb"],
        ),
        (
            Server::Valkey,
            "Valkey, Redis",
            &["valkey-server", "redis-server"],
            &["valkey", "redis"],
        ),
        (Server::MongoDb, "MongoDB", &["mongod", "mongos"], &[]),
        (
            Server::ClickHouse,
            "ClickHouse",
            &["clickhouse-server", "clickhouse-serv", "clickhouse"],
            &[],
        ),
        (Server::Oracle, "Oracle", &[], &[]),
        (Server::Any, "any", &[], &[]),
    ];

    /// The word and the server of a target that begins with this word, if there is one.
    pub(super) fn of_target(word: &str) -> Option<(&'static str, Server)> {
        let mut rows = Self::TABLE.into_iter();
        rows.find_map(|(server, .., words)| {
            let word = words.iter().find(|it| **it == word)?;
            Some((*word, server))
        })
    }

    /// The name for people.
    pub fn word(self) -> &'static str {
        let row = Self::TABLE.iter().find(|(server, ..)| *server == self);
        row.expect("the table has a row for every server").1
    }
}

/// A server, its name, its programs and the words of its targets.
type ServerRow = (
    Server,
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

/// The source of the rows of PostgreSQL.
pub(super) const POSTGRES_TITLES: &str = "src/backend/utils/init/miscinit.c, GetBackendTypeDesc";
const PREWARM: &str = "contrib/pg_prewarm/autoprewarm.c";
const MARIADB_SEEN: &str = "seen with MariaDB 10.11, which names no thread";
const INNODB: &str =
    "MySQL 8.4, storage/innobase/handler/ha_innodb.cc, all_innodb_threads; not seen";
const MYSQL: &str = "MySQL 8.4, sql/conn_handler/connection_handler_per_thread.cc; not seen";
const MARIADB_NEW: &str = "MariaDB 12, calls of my_thread_set_name; not seen";
const REDIS: &str = "src/bio.c, src/networking.c; seen with Redis 7.0 and Valkey 8.0";
const JEMALLOC: &str = "jemalloc, background_thread.c; seen with Redis 7.0 and Valkey 8.0";
const MONGO: &str =
    "names in public reports: 7 letters, a dot and 7 letters where longer; not seen";
const CLICKHOUSE: &str = "system.stack_trace and system.text_log in the documentation; not seen";
/// The source of the rows of Oracle.
pub(super) const ORACLE: &str = "Oracle Database Reference, Background Processes; not seen";
const IO_URING: &str = "Linux, io_uring/io-wq.c and io_uring/sqpoll.c; not seen";

const fn row(
    server: Server,
    pattern: Pattern,
    role: &'static str,
    does_io: bool,
    source: &'static str,
) -> RoleRow {
    RoleRow {
        server,
        pattern,
        role,
        does_io,
        source,
    }
}

/// A process of PostgreSQL, whose role is in its title.
const fn title(words: &'static str, does_io: bool) -> RoleRow {
    row(
        Server::PostgreSql,
        Pattern::Title(words),
        words,
        does_io,
        POSTGRES_TITLES,
    )
}

/// A process of the extension pg_prewarm.
const fn prewarm(words: &'static str) -> RoleRow {
    row(
        Server::PostgreSql,
        Pattern::Title(words),
        words,
        true,
        PREWARM,
    )
}

/// Every role. Of two rows of a server that match, the first counts.
#[rustfmt::skip]
pub const ROLES: &[RoleRow] = &[
    title("archiver", true),
    prewarm("autoprewarm leader"),
    prewarm("autoprewarm worker"),
    title("autovacuum launcher", false),
    title("autovacuum worker", false),
    title("background writer", true),
    title("checkpointer", true),
    title("io worker", true),
    title("logger", true),
    title("logical replication apply worker", false),
    title("logical replication launcher", false),
    title("logical replication parallel worker", false),
    title("logical replication worker", false),
    title("parallel worker", false),
    title("slotsync worker", false),
    title("startup", true),
    title("stats collector", false),
    title("walreceiver", true),
    title("walsender", true),
    title("walsummarizer", true),
    title("walwriter", true),
    title("writer", true),

    row(Server::MariaDb, Pattern::First, "main (accepts connections)", false, MARIADB_SEEN),
    row(Server::MariaDb, Pattern::Unnamed, "unnamed", false, MARIADB_SEEN),
    row(Server::MariaDb, Pattern::Is("one_connection"), "connection", false, MARIADB_NEW),
    row(Server::MariaDb, Pattern::Is("connection"), "connection", false, MYSQL),
    row(Server::MariaDb, Pattern::Starts("io_"), "InnoDB I/O", true, MARIADB_NEW),
    row(Server::MariaDb, Pattern::Is("page_cleaner"), "InnoDB page cleaner", true, MARIADB_NEW),
    row(Server::MariaDb, Pattern::Starts("buf_"), "InnoDB buffer pool", true, MARIADB_NEW),
    row(Server::MariaDb, Pattern::Starts("ib_io_rd"), "InnoDB read I/O", true, INNODB),
    row(Server::MariaDb, Pattern::Starts("ib_io_wr"), "InnoDB write I/O", true, INNODB),
    row(Server::MariaDb, Pattern::Starts("ib_io_"), "InnoDB I/O", true, INNODB),
    row(Server::MariaDb, Pattern::Starts("ib_pg_flush"), "InnoDB page cleaner", true, INNODB),
    row(Server::MariaDb, Pattern::Starts("ib_log_"), "InnoDB redo log", true, INNODB),
    row(Server::MariaDb, Pattern::Starts("ib_buf_"), "InnoDB buffer pool", true, INNODB),
    row(Server::MariaDb, Pattern::Is("ib_srv_purge"), "InnoDB purge", false, INNODB),
    row(Server::MariaDb, Pattern::Starts("ib_srv_wkr"), "InnoDB purge", false, INNODB),
    row(Server::MariaDb, Pattern::Starts("ib_par_rd"), "InnoDB parallel read", false, INNODB),
    row(Server::MariaDb, Pattern::Starts("ib_"), "InnoDB background", false, INNODB),

    row(Server::Valkey, Pattern::First, "main (runs commands)", false, REDIS),
    row(Server::Valkey, Pattern::Starts("io_thd_"), "I/O thread", true, REDIS),
    row(Server::Valkey, Pattern::Starts("bio_"), "background job", true, REDIS),
    row(Server::Valkey, Pattern::Is("jemalloc_bg_thd"), "allocator", false, JEMALLOC),

    row(Server::MongoDb, Pattern::First, "main", false, MONGO),
    row(Server::MongoDb, Pattern::Starts("conn"), "connection", false, MONGO),
    row(Server::MongoDb, Pattern::Is("listener"), "listener", false, MONGO),
    row(Server::MongoDb, Pattern::Is("WTJourn.Flusher"), "journal flusher", true, MONGO),
    row(Server::MongoDb, Pattern::Is("JournalFlusher"), "journal flusher", true, MONGO),
    row(Server::MongoDb, Pattern::Is("WTCheck.tThread"), "checkpoint", true, MONGO),
    row(Server::MongoDb, Pattern::Starts("Checkpo"), "checkpoint", true, MONGO),
    row(Server::MongoDb, Pattern::Starts("WT"), "storage engine", false, MONGO),
    row(Server::MongoDb, Pattern::Starts("Wired"), "storage engine", false, MONGO),
    row(Server::MongoDb, Pattern::Is("ftdc"), "diagnostic data", false, MONGO),
    row(Server::MongoDb, Pattern::Is("TTLMonitor"), "TTL monitor", false, MONGO),

    row(Server::ClickHouse, Pattern::First, "main", false, CLICKHOUSE),
    row(Server::ClickHouse, Pattern::Starts("QueryPipelineEx"), "query", false, CLICKHOUSE),
    row(Server::ClickHouse, Pattern::Starts("QueryPullPipeEx"), "query", false, CLICKHOUSE),
    row(Server::ClickHouse, Pattern::Starts("QueryPushPipeEx"), "query", false, CLICKHOUSE),
    row(Server::ClickHouse, Pattern::Is("MergeMutate"), "merge", true, CLICKHOUSE),
    row(Server::ClickHouse, Pattern::Starts("MergeTreeIndex"), "index read", false, CLICKHOUSE),
    row(Server::ClickHouse, Pattern::Starts("Bg"), "background schedule", false, CLICKHOUSE),
    row(Server::ClickHouse, Pattern::Is("HTTPHandler"), "HTTP connection", false, CLICKHOUSE),
    row(Server::ClickHouse, Pattern::Is("TCPHandler"), "TCP connection", false, CLICKHOUSE),
    row(Server::ClickHouse, Pattern::Is("Fetch"), "fetch from replica", true, CLICKHOUSE),
    row(Server::ClickHouse, Pattern::Is("AsyncMetrics"), "metrics", false, CLICKHOUSE),

    // Whatever stands between `ora_` and the SID is the role; these rows say which do I/O.
    row(Server::Oracle, Pattern::Starts("ora_dbw"), "dbw", true, ORACLE),
    row(Server::Oracle, Pattern::Starts("ora_bw"), "bw", true, ORACLE),
    row(Server::Oracle, Pattern::Starts("ora_lg"), "lgwr", true, ORACLE),
    row(Server::Oracle, Pattern::Starts("ora_ckpt"), "ckpt", true, ORACLE),
    row(Server::Oracle, Pattern::Starts("ora_arc"), "arc", true, ORACLE),
    row(Server::Oracle, Pattern::Starts("ora_"), "background", false, ORACLE),

    row(Server::Any, Pattern::Starts("iou-wrk-"), "io_uring worker", true, IO_URING),
    row(Server::Any, Pattern::Starts("iou-sqp-"), "io_uring poller", true, IO_URING),
];

/// The row of a thread, by the server of its process.
pub(super) fn row_of(
    server: Option<Server>,
    name: &str,
    is_first: bool,
    first: &str,
) -> Option<RoleRow> {
    let matches = |row: &&RoleRow| {
        let is_of = row.server == Server::Any || Some(row.server) == server;
        is_of
            && match row.pattern {
                Pattern::Title(_) => false,
                Pattern::First => is_first,
                Pattern::Unnamed => !is_first && name == first,
                Pattern::Is(text) => name == text,
                Pattern::Starts(text) => name.starts_with(text),
            }
    };
    ROLES.iter().find(matches).copied()
}

/// The row of a process of PostgreSQL, by the words of its title after `postgres: `.
pub(super) fn row_of_title(words: &str) -> Option<&'static RoleRow> {
    ROLES.iter().find(|row| match row.pattern {
        Pattern::Title(title) => {
            let rest = words.strip_prefix(title);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        }
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_known_by_their_names() {
        let check = |server, name: &str, expected: Option<&str>| {
            let found = row_of(Some(server), name, false, "first");
            assert_eq!(found.map(|row| row.role), expected, "{name}");
        };
        check(Server::Valkey, "io_thd_3", Some("I/O thread"));
        check(Server::Valkey, "bio_lazy_free", Some("background job"));
        check(Server::Valkey, "connection", None);
        check(Server::MariaDb, "ib_io_rd-1", Some("InnoDB read I/O"));
        check(Server::MariaDb, "ib_log_fl_notif", Some("InnoDB redo log"));
        check(Server::MariaDb, "first", Some("unnamed"));
        check(Server::MongoDb, "conn4711", Some("connection"));
        check(Server::MongoDb, "WTIdleS.Sweeper", Some("storage engine"));
        check(Server::ClickHouse, "QueryPipelineEx", Some("query"));
        check(Server::Oracle, "iou-wrk-4711", Some("io_uring worker"));
        assert_eq!(row_of(None, "io_thd_3", true, "io_thd_3"), None);
        let first = row_of(Some(Server::Valkey), "x", true, "x").unwrap();
        assert_eq!(first.role, "main (runs commands)");
    }

    /// The row of the page.
    fn line(row: &RoleRow) -> String {
        let name = match row.pattern {
            Pattern::Title(title) => format!("title `{title}`"),
            Pattern::First => "the first thread".to_owned(),
            Pattern::Unnamed => "as the first thread".to_owned(),
            Pattern::Is(text) => format!("`{text}`"),
            Pattern::Starts(text) => format!("`{text}`…"),
        };
        let (server, io) = (row.server.word(), if row.does_io { "yes" } else { "" });
        format!(
            "| {server} | {name} | {} | {io} | {} |",
            row.role, row.source
        )
        .replace("|  |", "| |")
    }

    #[test]
    fn the_page_has_the_table_and_no_other_rows() {
        let page = include_str!("../../../../../docs/threads.md");
        let rows = page.lines().filter(|line| line.starts_with("| "));
        let on_page: Vec<&str> = rows.skip(2).collect();
        let rows: Vec<String> = ROLES.iter().map(line).collect();
        let expected = rows.join("\n");
        assert_eq!(on_page, rows, "docs/threads.md should have\n{expected}");
    }

    #[test]
    fn every_pattern_fits_the_name_of_a_thread_and_says_its_source() {
        for row in ROLES {
            if let Pattern::Is(text) | Pattern::Starts(text) = row.pattern {
                assert!(!text.is_empty() && text.len() <= 15, "{text}");
            }
            assert!(!row.source.is_empty() && !row.role.is_empty(), "{row:?}");
        }
    }

    #[test]
    fn no_row_hides_a_later_one() {
        for (at, later) in ROLES.iter().enumerate() {
            let text = match later.pattern {
                Pattern::Is(text) | Pattern::Starts(text) => text,
                _ => continue,
            };
            let found = row_of(Some(later.server), text, false, "first").unwrap();
            assert_eq!(found, ROLES[at], "{text}");
        }
    }
}
