//! A real MariaDB as a target. With `--relations`, each index has as many pages in the buffer pool
//! as the server says, page by page, and what the server does not say is missing, not wrong. The
//! doctor compares what the server was told with what it got.
//!
//! Tests of mariadb.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;
use testing::{Need, not_run};

use crate::laboratory::Laboratory;
use crate::mariadb_server::{ELSEWHERE, MariaDbServer};
use crate::patience::until;

const TABLES: &str = "
    CREATE DATABASE `my-shop`;
    USE `my-shop`;
    CREATE TABLE orders (id INT PRIMARY KEY, who VARCHAR(200), note TEXT, KEY by_who (who));
    INSERT INTO orders SELECT seq, CONCAT('w', seq), REPEAT('x', 3000) FROM seq_1_to_4000;
    CREATE TABLE pictures (id INT PRIMARY KEY, data LONGBLOB);
    INSERT INTO pictures SELECT seq, REPEAT('y', 100000) FROM seq_1_to_20;
";

/// Pages of every index and of large values of a database, by the server's own view.
const PAGES: &str = "
    SELECT CONCAT(INDEX_NAME, ' ', COUNT(*)) FROM information_schema.INNODB_BUFFER_PAGE
    WHERE PAGE_TYPE = 'INDEX' AND TABLE_NAME LIKE '`my-shop`%' GROUP BY TABLE_NAME, INDEX_NAME
    ORDER BY TABLE_NAME, INDEX_NAME";

/// The relations of the database, with their kinds and pages.
fn of_shop(relations: &Value) -> BTreeMap<(String, String), u64> {
    let all = relations["relations"].as_array().unwrap().iter();
    let of_shop = all.filter(|it| it["database"] == "my-shop");
    let text = |it: &Value, name: &str| it[name].as_str().unwrap().to_owned();
    let figures = of_shop.map(|it| {
        let buffers = it["buffers"].as_u64().unwrap();
        ((text(it, "name"), text(it, "kind")), buffers)
    });
    figures.collect()
}

#[test]
fn tables_of_mariadb_have_the_pages_that_the_server_says() {
    const TEST: &str = "tables_of_mariadb_have_the_pages_that_the_server_says";
    let Some(server) = MariaDbServer::start(TEST, &[]) else {
        return;
    };
    server.sql(TABLES);
    let laboratory = Laboratory::new();
    let target = server.target();
    let words = ["inspect", &target, "--relations", "--server-view", "--json"];
    // Pages come and go while the server purges and flushes: it must have said the same before.
    let pool = || server.sql("SHOW STATUS LIKE 'Innodb_buffer_pool_pages_data'");
    let (said, relations) = until("a look while the pool stays as it is", || {
        let before = (pool(), server.sql(PAGES));
        let found = laboratory.document(&words)["relations"].clone();
        let after = (pool(), server.sql(PAGES));
        (before == after).then_some((before, found))
    });
    let (pool, pages) = said;
    let used: u64 = pool.split_whitespace().last().unwrap().parse().unwrap();
    assert_eq!(
        relations["buffers_used"].as_u64(),
        Some(used),
        "{relations:#}"
    );
    let view = &relations["server_view"];
    assert_eq!(view["state"], "pages-compared");
    assert_eq!(
        (view["only_said"].as_u64(), &view["only_found"]),
        (Some(0), &view["unnamed"])
    );
    let found = of_shop(&relations);
    let of = |name: &str, kind: &str| found[&(name.to_owned(), kind.to_owned())];
    let expected = format!(
        "by_who {}\nPRIMARY {}\nPRIMARY {}\n",
        of("orders.by_who", "index"),
        of("orders", "table"),
        of("pictures", "table")
    );
    assert_eq!(pages, expected);
    assert!(
        of("orders", "table") > 700 && of("pictures", "large values") > 100,
        "{found:?}"
    );

    // Root asks as the user of the server.
    server.sql("SET GLOBAL log_output = 'TABLE'; SET GLOBAL general_log = 1");
    laboratory.document(&words);
    server.sql("SET GLOBAL general_log = 0");
    let asked = "SELECT DISTINCT SUBSTRING_INDEX(user_host, '[', 1) FROM mysql.general_log \
                 WHERE argument LIKE '%information_schema.INNODB%'";
    // The log has this question, too.
    let asked = format!("{asked} AND argument NOT LIKE '%general_log%'");
    assert_eq!(server.sql(&asked), "mysql\n");

    // A server that lets nobody in is looked at all the same; only names are missing.
    let secret = "IDENTIFIED BY 'not a secret'";
    let without =
        format!("ALTER USER mysql@localhost {secret}; ALTER USER root@localhost {secret}");
    server.sql(&without);
    let again = laboratory.document(&words)["relations"].clone();
    assert_eq!(again["server_view"]["state"], "unanswered", "{again:#}");
    let all = |relations: &Value| relations["relations"].as_array().unwrap().clone();
    let orders = all(&relations)
        .into_iter()
        .find(|it| it["name"] == "orders");
    let space = orders.unwrap()["filenode"].clone();
    let of_space = all(&again).into_iter().filter(|it| it["filenode"] == space);
    let indexes = of_space.filter(|it| it["name"].as_str().unwrap().contains(".index "));
    let mut indexes: Vec<u64> = indexes.map(|it| it["buffers"].as_u64().unwrap()).collect();
    indexes.sort_unstable();
    assert_eq!(
        indexes,
        [of("orders.by_who", "index"), of("orders", "table")]
    );
    laboratory.nothing_is_left();
}

#[test]
fn a_password_of_mariadb_comes_from_where_its_programs_take_it() {
    const TEST: &str = "a_password_of_mariadb_comes_from_where_its_programs_take_it";
    let Some(server) = MariaDbServer::start(TEST, &[]) else {
        return;
    };
    let secret = "IDENTIFIED BY 'not a secret'";
    server.sql(&format!(
        "ALTER USER mysql@localhost {secret}; ALTER USER root@localhost {secret}"
    ));
    let laboratory = Laboratory::new();
    let target = server.target();
    let state = |variables: &[(&str, &str)]| {
        let words = ["inspect", &target, "--relations", "--server-view", "--json"];
        let mut command = laboratory.command(&words);
        command.env("HOME", laboratory.folder());
        let output = command.envs(variables.iter().copied()).output().unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        document["relations"]["server_view"]["state"].clone()
    };
    assert_eq!(state(&[]), "unanswered");
    assert_eq!(state(&[("MYSQL_PWD", "wrong")]), "unanswered");
    // Of the user who runs numalab, here root.
    assert_eq!(state(&[("MYSQL_PWD", "not a secret")]), "pages-compared");
    let file = "[client]\nuser = mysql\npassword = \"not a secret\"\n";
    laboratory.file(".my.cnf", file);
    assert_eq!(state(&[]), "pages-compared");
    laboratory.nothing_is_left();
}

#[test]
fn large_pages_that_mariadb_did_not_get_are_found() {
    const TEST: &str = "large_pages_that_mariadb_did_not_get_are_found";
    let free = fs::read_to_string("/proc/meminfo").unwrap();
    let free = free
        .lines()
        .find_map(|line| line.strip_prefix("HugePages_Free:"));
    if free.is_some_and(|free| free.trim() != "0") {
        return not_run(
            TEST,
            Need::Kernel,
            "there are free huge pages, which the server would get",
        );
    }
    let Some(server) = MariaDbServer::start(TEST, &["--large-pages"]) else {
        return;
    };
    server.sql(TABLES);
    let laboratory = Laboratory::new();
    let target = server.target();
    let ids = || -> Vec<String> {
        let found = laboratory.document(&["doctor", &target, "--json"]);
        let findings = found["findings"].as_array().unwrap().iter();
        findings
            .map(|it| it["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let large = server.sql("SHOW VARIABLES LIKE 'large_pages'");
    assert_eq!(large, "large_pages\tON\n");
    assert!(
        ids().contains(&"mariadb-large-pages-fell-back".to_owned()),
        "{:?}",
        ids()
    );
    // By port, as a server without one is not found.
    let refused = laboratory.run(&["doctor", "mysql:1"]).with_code(2);
    assert!(
        refused.stderr.contains("MariaDB, MySQL listens on port 1"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_mariadb_in_another_mount_namespace_is_found_by_the_name_it_knows() {
    const TEST: &str = "a_mariadb_in_another_mount_namespace_is_found_by_the_name_it_knows";
    let Some(server) = MariaDbServer::start_elsewhere(TEST) else {
        return;
    };
    server.sql(TABLES);
    let laboratory = Laboratory::new();
    let target = format!("mysql:{ELSEWHERE}");
    let found = laboratory.document(&["inspect", &target, "--relations", "--json"]);
    let pid = found["processes"][0]["pid"].as_u64().unwrap();
    assert_eq!(pid.to_string(), server.server.pid());
    let shop = of_shop(&found["relations"]);
    let orders = ("orders".to_owned(), "table".to_owned());
    assert!(shop[&orders] > 700, "its socket is reached, too: {found:#}");
}
