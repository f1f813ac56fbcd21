//! What a process of a database does, from the title it gives itself.

/// Background processes of PostgreSQL as their titles name them (postmaster children,
/// `src/backend/utils/init/miscinit.c`, `GetBackendTypeDesc`; older names beside the newer), and
/// those of its extension pg_prewarm (`contrib/pg_prewarm/autoprewarm.c`).
const POSTGRES: [&str; 22] = [
    "archiver",
    "autoprewarm leader",
    "autoprewarm worker",
    "autovacuum launcher",
    "autovacuum worker",
    "background writer",
    "checkpointer",
    "io worker",
    "logger",
    "logical replication apply worker",
    "logical replication launcher",
    "logical replication parallel worker",
    "logical replication worker",
    "parallel worker",
    "slotsync worker",
    "startup",
    "stats collector",
    "walreceiver",
    "walsender",
    "walsummarizer",
    "walwriter",
    "writer",
];

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
    let named = |words: &str| {
        POSTGRES.into_iter().find(|class| {
            let rest = words.strip_prefix(class);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        })
    };
    named(words)
        .or_else(|| named(after_cluster))
        .unwrap_or("session")
}

/// `ora_pmon_ORCL` is `pmon`, `ora_p00a_ORCL` a parallel worker, `oracleORCL` a session.
fn oracle(text: &str) -> Option<String> {
    let Some(rest) = text.strip_prefix("ora_") else {
        let is_session = text.len() > 6 && text.starts_with("oracle") && !text.contains('/');
        return is_session.then(|| "session".to_owned());
    };
    let (process, _) = rest.split_once('_')?;
    let number = process.strip_prefix('p').filter(|number| number.len() == 3);
    if number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        && number.is_some_and(|number| number.bytes().any(|byte| byte.is_ascii_digit()))
    {
        return Some("parallel worker".to_owned());
    }
    let class = process.trim_end_matches(|digit: char| digit.is_ascii_digit());
    Some(class.to_owned())
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
        check("ora_dbw3_slob", "ora_dbw3_slob", "dbw");
        check("oracle_4242_sl", "oracleslob (LOCAL=NO)", "session");
        check("mysqld", "/usr/sbin/mysqld", "mysqld");
        check("oracle", "/opt/oracle/bin/tnslsnr", "oracle");
    }
}
