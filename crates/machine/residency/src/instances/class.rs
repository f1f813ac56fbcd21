//! What a process of a database does, from the title it gives itself.

use super::roles::{ORACLE, POSTGRES_TITLES, Server, row_of, row_of_title};

/// What a thread does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// The word for it.
    pub role: String,
    /// The server that has such threads.
    pub server: Server,
    /// Where that is known from.
    pub source: &'static str,
    /// Whether it reads or writes files or sockets for other threads.
    pub does_io: bool,
}

/// The class of a process with this name (`comm`) and title (first word of its command line).
pub fn class_of(name: &str, title: &str) -> String {
    if let Some(words) = title.strip_prefix("postgres: ") {
        return postgres(words).to_owned();
    }
    for text in [title, name] {
        if let Some(class) = oracle(text) {
            return class;
        }
    }
    if is_postgres_program(name, title) {
        return "postmaster".to_owned();
    }
    name.to_owned()
}

/// The server of a process with this name (`comm`) and title (first word of its command line).
pub fn server_of(name: &str, title: &str) -> Option<Server> {
    if title.starts_with("postgres: ") {
        return Some(Server::PostgreSql);
    }
    if oracle(title).is_some() || oracle(name).is_some() {
        return Some(Server::Oracle);
    }
    // redis-server *:6379
    let program = title.split(' ').next().unwrap_or("");
    let program = program.rsplit('/').next().unwrap_or(program);
    let is_of = |programs: &[&str]| programs.contains(&program) || programs.contains(&name);
    let row = Server::TABLE.iter().find(|row| is_of(row.2));
    row.map(|(server, ..)| *server)
}

/// What a thread with this name does in a process of this server and class; `first` is the name of
/// the first thread, and `is_first` whether this is it. `None` for a name that no row has.
pub fn role_of(
    server: Option<Server>,
    class: &str,
    (name, is_first): (&str, bool),
    first: &str,
) -> Option<Role> {
    let row = row_of(server, name, is_first, first);
    match server {
        Some(server @ Server::PostgreSql) if is_first => Some(Role {
            role: class.to_owned(),
            server,
            source: POSTGRES_TITLES,
            does_io: row_of_title(class).is_some_and(|row| row.does_io),
        }),
        Some(server @ Server::Oracle) if is_first || oracle(name).is_some() => Some(Role {
            role: oracle(name).unwrap_or_else(|| class.to_owned()),
            server,
            source: ORACLE,
            does_io: row.is_some_and(|row| row.does_io),
        }),
        _ => row.map(|row| Role {
            role: row.role.to_owned(),
            server: row.server,
            source: row.source,
            does_io: row.does_io,
        }),
    }
}

/// Whether this is the postmaster: the server process that has set no title for itself.
fn is_postgres_program(name: &str, title: &str) -> bool {
    let program = title.rsplit('/').next().unwrap_or(title);
    matches!(program, "postgres" | "postmaster") && matches!(name, "postgres" | "postmaster")
}

/// The class for `checkpointer`, `main: walwriter`, `io worker 2`, or a user and a database: that
/// is a session, and its words are not repeated.
fn postgres(words: &str) -> &'static str {
    // With cluster_name set, the title begins with it.
    let after_cluster = words.split_once(": ").map_or(words, |(_, after)| after);
    let named = |words: &str| row_of_title(words).map(|row| row.role);
    named(words)
        .or_else(|| named(after_cluster))
        .unwrap_or("session")
}

/// What stands before the process in a title: of a database, of ASM, of the management repository,
/// of an ASM proxy, and of an ASM I/O server (Oracle Database Reference, Background Processes).
const ORACLE_PREFIXES: [&str; 5] = ["ora_", "asm_", "mdb_", "apx_", "ios_"];

/// Processes with a letter and a number that may end in letters, such as `p00a` (the same source).
const ORACLE_NUMBERED: [(char, &str); 13] = [
    ('d', "dispatcher"),
    ('i', "I/O slave"),
    ('j', "job slave"),
    ('l', "pooled server"),
    ('m', "mmon slave"),
    ('n', "connection broker"),
    ('o', "asm slave"),
    ('p', "parallel worker"),
    ('q', "queue slave"),
    ('s', "shared server"),
    ('u', "threaded process"),
    ('v', "asm volume slave"),
    ('w', "space slave"),
];

/// `ora_pmon_ORCL` is `pmon`, `ora_p00a_ORCL` a parallel worker, `oracleORCL` a session.
fn oracle(text: &str) -> Option<String> {
    let Some(rest) = of_oracle(text) else {
        let is_session = text.len() > 6 && text.starts_with("oracle") && !text.contains('/');
        return is_session.then(|| "session".to_owned());
    };
    let (process, _) = rest.split_once('_')?;
    let numbered = ORACLE_NUMBERED.iter().find(|(letter, _)| {
        let number = process.strip_prefix(*letter).unwrap_or("");
        number.len() == 3
            && number.starts_with(|first: char| first.is_ascii_digit())
            && number.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    if let Some((_, class)) = numbered {
        return Some((*class).to_owned());
    }
    let class = process.trim_end_matches(|digit: char| digit.is_ascii_digit());
    Some(class.to_owned())
}

/// The process and the SID of a title such as `ora_pmon_ORCL`.
pub(super) fn of_oracle(text: &str) -> Option<&str> {
    let mut prefixes = ORACLE_PREFIXES.iter();
    prefixes.find_map(|prefix| text.strip_prefix(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_name_what_a_process_does() {
        let check = |name, title, expected: &str| {
            assert_eq!(class_of(name, title), expected, "{name} {title}");
        };
        check(
            "postgres",
            "/usr/lib/postgresql/18/bin/postgres",
            "postmaster",
        );
        check("postgres", "postgres: checkpointer ", "checkpointer");
        check("postgres", "postgres: main: walwriter ", "walwriter");
        check("postgres", "postgres: io worker 2", "io worker");
        check(
            "postgres",
            "postgres: autoprewarm worker ",
            "autoprewarm worker",
        );
        check(
            "postgres",
            "postgres: parallel worker for PID 7 ",
            "parallel worker",
        );
        check(
            "postgres",
            "postgres: alice secret_db [local] idle",
            "session",
        );
        check("ora_pmon_slob", "ora_pmon_slob", "pmon");
        check("ora_p000_slob", "ora_p000_slob", "parallel worker");
        check("ora_p00a_slob", "ora_p00a_slob", "parallel worker");
        check("ora_psp0_slob", "ora_psp0_slob", "psp");
        check("ora_s012_slob", "ora_s012_slob", "shared server");
        check("oracle", "ora_u005_slob", "threaded process");
        check("asm_gmon_+asm1", "asm_gmon_+ASM1", "gmon");
        check(
            "oracle_77_+asm1",
            "oracle+ASM1_asmb_slob (DESCRIPTION=(LOCAL=YES))",
            "session",
        );
        check("mdb_lgwr_-mgmtd", "mdb_lgwr_-MGMTDB", "lgwr");
        check("ora_dbw3_slob", "ora_dbw3_slob", "dbw");
        check("oracle_4242_sl", "oracleslob (LOCAL=NO)", "session");
        check("mysqld", "/usr/sbin/mysqld", "mysqld");
        check("oracle", "/opt/oracle/bin/tnslsnr", "oracle");
    }

    #[test]
    fn servers_are_known_by_their_programs_and_titles() {
        let check = |name, title, expected| assert_eq!(server_of(name, title), expected);
        check("redis-server", "redis-server *:6379", Some(Server::Valkey));
        check("mariadbd", "/usr/sbin/mariadbd", Some(Server::MariaDb));
        check(
            "postgres",
            "postgres: io worker 1",
            Some(Server::PostgreSql),
        );
        check("ora_u005_orcl", "ora_u005_orcl", Some(Server::Oracle));
        check(
            "clickhouse-serv",
            "/usr/bin/clickhouse",
            Some(Server::ClickHouse),
        );
        check("sh", "sh", None);
    }

    #[test]
    fn a_process_of_postgres_and_a_thread_of_oracle_have_the_role_of_their_title() {
        let check = |server, class, name, is_first, expected: (&str, bool)| {
            let found = role_of(Some(server), class, (name, is_first), "first").unwrap();
            assert_eq!((found.role.as_str(), found.does_io), expected, "{name}");
        };
        let postgres = Server::PostgreSql;
        check(postgres, "walwriter", "postgres", true, ("walwriter", true));
        check(postgres, "session", "postgres", true, ("session", false));
        let oracle = Server::Oracle;
        check(oracle, "u", "ora_dbw0_orcl", false, ("dbw", true));
        let threaded = "threaded process";
        check(oracle, threaded, "oracle", true, (threaded, false));
        check(oracle, threaded, "ora_lgwr_orcl", false, ("lgwr", true));
        check(
            oracle,
            "session",
            "oracle_22_orcl",
            true,
            ("session", false),
        );
    }
}
