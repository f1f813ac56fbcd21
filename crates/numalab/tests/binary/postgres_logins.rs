//! `numalab run --connect` lets itself in where psql does: what the URL does not say comes from
//! variables, services and the password file, so that no password need stand where `ps` shows it.
//!
//! Tests of postgresql, server.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::postgres_server::{Server, installed};
use crate::unmet_need::is_root;
use crate::user::NOBODY;

const PASSWORD: &str = "of:reader";

/// A server that lets `reader` in by a password, and others as `postgres` by the socket if they are
/// its owner; `orders` can be measured, `keyless` cannot.
struct Guarded {
    server: Server,
    laboratory: Laboratory,
}

impl Guarded {
    fn start(test: &str) -> Option<Self> {
        let server = Server::start(&installed(test)?);
        server.query(
            "CREATE TABLE orders AS SELECT k, repeat('x', 900) AS filler \
             FROM generate_series(10, 4009) AS k",
        );
        for sql in [
            "CREATE UNIQUE INDEX ON orders (k)",
            "VACUUM ANALYZE orders",
            "CREATE TABLE keyless (k int)",
            "CREATE ROLE reader LOGIN",
            "GRANT SELECT ON orders, keyless TO reader",
            "GRANT CREATE ON DATABASE postgres TO reader",
        ] {
            server.query(sql);
        }
        server.query(&format!("ALTER ROLE reader PASSWORD '{PASSWORD}'"));
        let data = server.data();
        let write = |name: &str, text: String| {
            fs::write(Path::new(&data).join(name), text).unwrap();
        };
        let methods = "local all reader scram-sha-256\nlocal all all peer map=all\n";
        write("pg_hba.conf", methods.to_owned());
        write("pg_ident.conf", format!("all {} postgres\n", owner(&data)));
        server.query("SELECT pg_reload_conf()");
        let laboratory = Laboratory::new();
        Some(Guarded { server, laboratory })
    }

    /// The folder of its socket.
    fn folder(&self) -> String {
        let data = self.server.data();
        let folder = Path::new(&data).parent().unwrap();
        folder.display().to_string()
    }

    /// The variables that lead to the server, and some more.
    fn variables(&self, more: &[(&str, &str)]) -> Vec<(String, String)> {
        let folder = self.folder();
        let usual = [
            ("PGHOST", folder.as_str()),
            ("PGPORT", "54399"),
            ("PGDATABASE", "postgres"),
            ("PGUSER", "reader"),
        ];
        let all = usual.iter().chain(more);
        all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    /// Writes a file for its owner alone; returns its path.
    fn private(&self, name: &str, text: &str) -> String {
        let file = self.laboratory.file(name, text);
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        file
    }

    fn command(&self, url: &str, more: [&str; 2], variables: &[(String, String)]) -> Command {
        let words = ["run", "--connect", url, "--trials", "5", "--seconds", "0.2"];
        let mut command = self.laboratory.command(&[&words[..], &more].concat());
        command.envs(variables.iter().cloned());
        command
    }

    fn run(&self, url: &str, table: &str, variables: &[(String, String)]) -> (i32, String) {
        let output = self
            .command(url, ["--table", table], variables)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.code().unwrap(), said)
    }

    /// Asserts that it gets so far as to look at a table, which it cannot read.
    #[track_caller]
    fn lets_in(&self, url: &str, variables: &[(String, String)]) {
        let (code, said) = self.run(url, "keyless", variables);
        assert!(
            code == 2 && said.contains("a unique index"),
            "{code}: {said}"
        );
    }

    #[track_caller]
    fn refuses(&self, url: &str, variables: &[(String, String)], code: i32, words: [&str; 2]) {
        let (found, said) = self.run(url, "orders", variables);
        assert_eq!(found, code, "{said}");
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
    }

    /// Measures; returns what was said.
    #[track_caller]
    fn is_measured(&self, url: &str) -> String {
        let (code, said) = self.run(url, "orders", &[]);
        // On a busy machine no trial may be valid.
        assert!([0, 5, 6, 8].contains(&code), "{code}: {said}");
        assert!(!said.contains("connecting to"), "{said}");
        said
    }
}

/// The name of the user to whom a server belongs.
fn owner(data: &str) -> String {
    let uid = fs::metadata(data).unwrap().uid().to_string();
    let name = Command::new("id").args(["-un", &uid]).output().unwrap();
    String::from_utf8(name.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_password_comes_from_where_psql_takes_it() {
    let Some(guarded) = Guarded::start("a_password_comes_from_where_psql_takes_it") else {
        return;
    };
    let (none, url) = ("postgresql://", guarded.server.url("reader"));
    let named = |name: &str, value: &str| [(name.to_owned(), value.to_owned())];
    let missing = ["password missing", "PGPASSWORD"];
    guarded.refuses(none, &guarded.variables(&[]), 4, missing);
    let wrong = guarded.variables(&[("PGPASSWORD", "wrong")]);
    guarded.refuses(none, &wrong, 4, ["password authentication", "~/.pgpass"]);
    guarded.lets_in(none, &guarded.variables(&[("PGPASSWORD", PASSWORD)]));
    let line = format!("{}:54399:*:reader:{PASSWORD}\n", guarded.folder());
    let file = guarded.private("pass", &line);
    guarded.lets_in(&url, &named("PGPASSFILE", &file));
    guarded.lets_in(&format!("{url} passfile={file}"), &[]);
    let settings = format!("port=54399\nuser=reader\ndbname=postgres\npassfile={file}\n");
    let service = format!("[shop]\nhost={}\n{settings}", guarded.folder());
    let services = named("PGSERVICEFILE", &guarded.private("services", &service));
    guarded.lets_in("service=shop", &services);
    guarded.lets_in("postgresql://?service=shop", &services);
    guarded.refuses(
        "service=none",
        &services,
        8,
        ["\"none\"", "in none of them"],
    );
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let open = ["may be read by others (mode 0644)", "chmod 0600"];
    guarded.refuses(&url, &named("PGPASSFILE", &file), 2, open);
    guarded.laboratory.nothing_is_left();
}

#[test]
fn a_password_on_the_command_line_is_warned_of() {
    let Some(guarded) = Guarded::start("a_password_on_the_command_line_is_warned_of") else {
        return;
    };
    let url = format!("{} password={PASSWORD}", guarded.server.url("reader"));
    let said = guarded.is_measured(&url);
    let warning = "every user of this machine can read the password";
    assert!(said.contains(warning) && !said.contains(PASSWORD), "{said}");
    guarded.laboratory.nothing_is_left();
}

/// All sessions are let in, too.
#[test]
fn root_is_let_in_as_the_owner_of_the_socket() {
    let Some(guarded) = Guarded::start("root_is_let_in_as_the_owner_of_the_socket") else {
        return;
    };
    let said = guarded.is_measured(&guarded.server.url("postgres"));
    assert!(!said.contains("can read the password"), "{said}");
    guarded.laboratory.nothing_is_left();
}

#[test]
fn a_schema_made_with_a_password_is_undone_with_it() {
    let Some(guarded) = Guarded::start("a_schema_made_with_a_password_is_undone_with_it") else {
        return;
    };
    let schema = "SELECT to_regnamespace('bench') IS NOT NULL";
    let exists = || guarded.server.query(schema) == "t";
    let variables = guarded.variables(&[("PGPASSWORD", PASSWORD)]);
    let mut killed = guarded.command("postgresql://", ["--create", "bench"], &variables);
    let mut killed = killed.spawn().unwrap();
    until("the schema", || exists().then_some(()));
    killed.kill().unwrap();
    killed.wait().unwrap();
    let refused = guarded.laboratory.run(&["undo"]).with_code(4);
    refused.says(&[
        "password missing",
        "DROP SCHEMA",
        "`--force NUMBER` gives up",
    ]);
    // What leads to the server was stored, the password was not.
    let journal = guarded.laboratory.state().join("numalab/journal.jsonl");
    assert!(!fs::read_to_string(journal).unwrap().contains(PASSWORD));
    let mut undo = guarded.laboratory.command(&["undo"]);
    let undone = undo.env("PGPASSWORD", PASSWORD).output().unwrap();
    assert_eq!(undone.status.code(), Some(0), "{undone:?}");
    assert!(!exists());
    guarded.laboratory.nothing_is_left();
}

/// A server of any other user could log in elsewhere with it.
#[test]
fn only_a_server_of_the_user_or_of_postgres_gets_a_password() {
    const TEST: &str = "only_a_server_of_the_user_or_of_postgres_gets_a_password";
    let Some(guarded) = Guarded::start(TEST) else {
        return;
    };
    if !is_root(TEST) {
        return;
    }
    let target = guarded.server.target();
    let words = ["inspect", &target, "--relations", "--pg-role", "reader"];
    let said = |laboratory: &Laboratory| {
        let mut command = laboratory.command(&words);
        let output = command.env("PGPASSWORD", PASSWORD).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    let refused = said(&guarded.laboratory);
    assert!(refused.contains("password missing"), "{refused}");
    let owner = Laboratory::of(NOBODY);
    let let_in = said(&owner);
    assert!(let_in.contains("permission denied for view"), "{let_in}");
    owner.nothing_is_left();
}
