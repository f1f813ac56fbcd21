//! A real Redis as a target, by port and by folder, and the doctor's findings on the CPU lists that
//! it is asked for: against redis-cli and the kernel.
//!
//! Tests of valkey, judgement, residency, live.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::redis_program::{Kind, REDIS};
use crate::running::Running;

const PASSWORD: &str = "not a secret";

/// Returns the variable with the password of the servers here.
pub(crate) fn password() -> String {
    format!("REDISCLI_AUTH={PASSWORD}")
}

/// A server with a password and these settings.
pub(crate) struct Redis {
    pub(crate) server: Running,
    pub(crate) folder: tempfile::TempDir,
    port: String,
}

impl Redis {
    fn start(test: &str, settings: &[&str]) -> Option<Self> {
        Self::start_kind(REDIS, test, settings)
    }

    /// Returns a server of this kind; if there is none here, reports that `test` is not run.
    pub(crate) fn start_kind(kind: Kind, test: &str, settings: &[&str]) -> Option<Self> {
        Self::start_behind(&["env".to_owned()], kind, test, settings)
    }

    /// The same, started by a command, which becomes the server.
    pub(crate) fn start_behind(
        launcher: &[String],
        kind: Kind,
        test: &str,
        settings: &[&str],
    ) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let program = kind.link_to_server(folder.path(), test)?;
        // Free now; a server that finds it taken does not come up.
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let port = port.to_string();
        let mut command = Command::new(&launcher[0]);
        command.args(&launcher[1..]).arg(program);
        command.args(["--port", &port, "--bind", "127.0.0.1", "--dir", "."]);
        command.args(["--requirepass", PASSWORD]).args(settings);
        command.current_dir(folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let redis = Redis {
            server: Running(command.spawn().unwrap()),
            folder,
            port,
        };
        until("the server answers", || {
            (redis.cli(&["PING"]) == "PONG").then_some(())
        });
        Some(redis)
    }

    /// Fills it with as many values of 1 KiB.
    pub(crate) fn fill(&self, values: u32) {
        let values = values.to_string();
        let said = self.cli(&["DEBUG", "POPULATE", &values, "key", "1024"]);
        assert_eq!(said, "OK");
    }

    /// Returns its name as a target.
    pub(crate) fn target(&self) -> String {
        format!("redis:{}", self.port)
    }

    fn cli(&self, words: &[&str]) -> String {
        let mut cli = Command::new("redis-cli");
        cli.args(["-p", &self.port])
            .args(words)
            .env("REDISCLI_AUTH", PASSWORD);
        String::from_utf8(cli.output().unwrap().stdout)
            .unwrap()
            .trim()
            .to_owned()
    }

    /// The ids of the findings, of a doctor that knows the password or does not.
    fn findings(&self, target: &str, knows: bool) -> (Vec<String>, String) {
        let mut laboratory = Laboratory::new();
        let password = password();
        let (set, unset) = (["env", &password], ["env", "-u", "REDISCLI_AUTH"]);
        match knows {
            true => laboratory.launch_behind(&set),
            false => laboratory.launch_behind(&unset),
        }
        let done = laboratory.run(&["doctor", target, "--json"]).with_code(0);
        let found = done.document();
        let ids = found["findings"].as_array().unwrap().iter();
        let ids = ids
            .map(|it| it["id"].as_str().unwrap().to_owned())
            .collect();
        (ids, done.stderr.to_owned())
    }
}

fn cpus_of(status: &Path) -> String {
    let text = fs::read_to_string(status).unwrap();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    line.unwrap().trim().to_owned()
}

#[test]
fn two_of_one_host_are_two_targets_in_every_list() {
    const TEST: &str = "two_of_one_host_are_two_targets_in_every_list";
    let Some(one) = Redis::start(TEST, &[]) else {
        return;
    };
    let Some(other) = Redis::start(TEST, &[]) else {
        return;
    };
    let laboratory = Laboratory::new();
    let both = [&one, &other];
    let listed = laboratory.document(&["targets", "--json"]);
    let text = laboratory.run(&["targets"]).with_code(0).stdout;
    let metrics = laboratory.run(&["metrics"]).with_code(0).stdout;
    let watched = laboratory.run(&["watch", "--once", "--json"]).with_code(0);
    let watched = watched.document();
    for redis in both {
        let (target, pid) = (redis.target(), redis.server.0.id());
        let rows = listed["targets"].as_array().unwrap().iter();
        let rows: Vec<_> = rows.filter(|row| row["target"] == target).collect();
        let [row] = rows[..] else {
            panic!("{target}: {listed:#}");
        };
        assert_eq!(row["processes"], serde_json::json!([pid]), "{row:#}");
        // Other databases of this host may have longer names.
        let line = format!("{target} Valkey, Redis, process {pid}");
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.lines().any(|it| words(it) == line), "{line}: {text}");
        // The same name elsewhere, and a command that takes it finds this server.
        let label = format!("{{database=\"{target}\"}} 1\n");
        let processes = format!("numalab_instance_processes{label}");
        assert!(metrics.contains(&processes), "{processes}: {metrics}");
        let instances = watched["instances"].as_array().unwrap().iter();
        let named = instances.filter(|it| it["name"] == target).count();
        assert_eq!(named, 1, "{target}: {watched:#}");
        let looked = laboratory.document(&["inspect", &target, "--json"]);
        assert_eq!(looked["processes"][0]["pid"], pid, "{looked:#}");
    }
}

#[test]
fn a_redis_is_found_by_its_port_and_by_its_folder() {
    const TEST: &str = "a_redis_is_found_by_its_port_and_by_its_folder";
    let Some(redis) = Redis::start(TEST, &[]) else {
        return;
    };
    let laboratory = Laboratory::new();
    let info = redis.cli(&["INFO", "server"]);
    let said = info
        .lines()
        .find_map(|line| line.strip_prefix("process_id:"));
    let pid: u64 = said.unwrap().trim().parse().unwrap();
    let folder = redis.folder.path().display().to_string();
    for place in [&redis.port, &folder] {
        for word in ["redis", "valkey"] {
            let target = format!("{word}:{place}");
            let found = laboratory.document(&["inspect", &target, "--json"]);
            assert_eq!(found["processes"][0]["pid"].as_u64(), Some(pid), "{target}");
        }
    }
    let refused = laboratory.run(&["inspect", "redis:1"]).with_code(2);
    assert!(
        refused
            .stderr
            .contains("listens on port 1; those that run:"),
        "{}",
        refused.stderr
    );
}

#[test]
fn cpu_lists_of_a_redis_are_compared_with_what_its_threads_may_use() {
    const TEST: &str = "cpu_lists_of_a_redis_are_compared_with_what_its_threads_may_use";
    let own = cpus_of(Path::new("/proc/self/status"));
    let first = own.split(['-', ',']).next().unwrap().to_owned();
    if first == own {
        testing::not_run(TEST, testing::Need::Hardware, "it may use one CPU");
        return;
    }
    let settings = [
        "--server_cpulist",
        &first,
        "--bio_cpulist",
        &own,
        "--io-threads",
        "2",
    ];
    let Some(redis) = Redis::start(TEST, &settings) else {
        return;
    };
    let target = format!("redis:{}", redis.port);
    assert!(redis.cli(&["CONFIG", "GET", "*cpulist"]).contains(&first));
    let status = format!("/proc/{}/status", redis.server.pid());
    until("the server is on its CPU", || {
        (cpus_of(Path::new(&status)) == first).then_some(())
    });
    let lists = |ids: &[String]| -> Vec<String> {
        let known = [
            "cpulist-not-honoured",
            "io-threads-share-cpus",
            "cpulists-overlap",
        ];
        ids.iter()
            .filter(|id| known.contains(&id.as_str()))
            .cloned()
            .collect()
    };
    let (found, _) = redis.findings(&target, true);
    assert_eq!(
        lists(&found),
        ["io-threads-share-cpus", "cpulists-overlap"],
        "{found:?}"
    );
    // By its process or its directory it is the same server.
    for same in [
        redis.server.pid(),
        format!("redis:{}", redis.folder.path().display()),
    ] {
        let (by_another, said) = redis.findings(&same, true);
        assert_eq!(by_another, found, "{same}: {said}");
    }
    let (found, said) = redis.findings(&target, false);
    assert!(lists(&found).is_empty(), "{found:?}");
    assert!(
        said.contains("NOAUTH") && said.contains("REDISCLI_AUTH"),
        "{said}"
    );
    // Another program changes them.
    let mut taskset = Command::new("taskset");
    taskset
        .args(["-a", "-c", "-p", &own, &redis.server.pid()])
        .stdout(Stdio::null());
    assert!(taskset.status().unwrap().success());
    let (found, _) = redis.findings(&target, true);
    assert_eq!(
        lists(&found),
        ["cpulist-not-honoured", "cpulists-overlap"],
        "{found:?}"
    );
}
