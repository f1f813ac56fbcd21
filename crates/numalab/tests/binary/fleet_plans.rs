//! Plans for fleets, carried out by the engines themselves: Debian's Slurm with four nodes on this
//! host, of which one dies in the middle; and the containers of a pod, with exactly what their
//! manifest gives them. For Ansible see `fleet_by_ansible.rs`.
//!
//! Tests of orchestrators, store.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testing::{Need, not_run};

use crate::finished::Finished;
use crate::laboratory::{Laboratory, binary};
use crate::patience::until;
use crate::postgres_server::{Server, installed};
use crate::running::Running;
use crate::unmet_need::is_root;
use crate::unpacked_programs::find;
use crate::user::{NOBODY, open_to_all};

/// Stands for numalab: measures quickly, whatever else this machine does. Where a file `dies` has
/// the name of the host, its first `latency` says which processes the host has, and hangs.
const QUICK: &str = r#"#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
case $1 in
latency)
    if [ "$(cat "$here/dies" 2>/dev/null)" = "$(uname -n)" ]; then
        echo "$(ps -o ppid= -p $PPID) $PPID $$" >"$here/middle.new"
        mv "$here/middle.new" "$here/middle"
        exec sleep 600
    fi
    shift
    set -- latency --anyway --rounds 1 --working-set 4MiB --last-level-cache 1MiB "$@"
    ;;
esac
exec BINARY "$@"
"#;

/// A laboratory with the stand-in, in a folder that every user reads.
pub(crate) fn laboratory() -> (Laboratory, String) {
    let laboratory = Laboratory::new();
    open_to_all(laboratory.folder());
    let text = QUICK.replace("BINARY", binary().to_str().unwrap());
    let quick = laboratory.file("quick", text);
    open_to_all(Path::new(&quick));
    (laboratory, quick)
}

/// Asserts that it prints these, in order.
#[track_caller]
pub(crate) fn prints(finished: &Finished, expected: &[&str]) {
    let mut rest = finished.stdout.as_str();
    for part in expected {
        let found = rest.split_once(part);
        let (_, after) = found.unwrap_or_else(|| panic!("no {part:?} in: {}", finished.stdout));
        rest = after;
    }
}

/// Runs a program of Slurm or a shell; returns what it says.
#[track_caller]
pub(crate) fn ran(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}{error}");
    said
}

/// A Slurm of four nodes on this host, each with a name of its own.
struct Cluster {
    folder: PathBuf,
    configuration: PathBuf,
    quick: String,
    daemons: Vec<(String, Running)>,
}

impl Cluster {
    /// Starts it below a folder.
    fn start(folder: &Path, quick: &str, features: &str) -> Self {
        let host = ran(Command::new("uname").arg("-n"));
        let folder = folder.join("slurm");
        for name in ["", "state", "munge"] {
            fs::create_dir(folder.join(name)).unwrap();
        }
        let key = folder.join("munge/key");
        fs::write(&key, "x".repeat(1024)).unwrap();
        ran(Command::new("chmod").args(["-R", "go=", folder.join("munge").to_str().unwrap()]));
        let ports: Vec<u16> = (0..5).map(|_| crate::prometheus::free_port()).collect();
        let place = folder.to_str().unwrap().to_owned();
        let mut text = format!(
            "ClusterName=numalab\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\n\
             SlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\n\
             AuthInfo=socket={place}/munge.socket\nStateSaveLocation={place}/state\n\
             SlurmdSpoolDir={place}/spool.%n\nSlurmctldPidFile={place}/ctld.pid\n\
             SlurmdPidFile={place}/%n.pid\nSlurmctldLogFile={place}/ctld.log\n\
             SlurmdLogFile={place}/%n.log\nMpiDefault=none\nProctrackType=proctrack/pgid\n\
             TaskPlugin=task/none\nReturnToService=2\nSelectType=select/cons_tres\n\
             SlurmdParameters=config_overrides\n",
            ports[4],
            host = host.trim()
        );
        for (node, port) in ports[..4].iter().enumerate() {
            text += &format!(
                "NodeName=n{} NodeHostname={} NodeAddr=127.0.0.1 Port={port} CPUs=1 \
                 {features}\n",
                node + 1,
                host.trim()
            );
        }
        text += "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n";
        let configuration = folder.join("slurm.conf");
        fs::write(&configuration, text).unwrap();
        let mut cluster = Cluster {
            folder,
            configuration,
            quick: quick.to_owned(),
            daemons: Vec::new(),
        };
        let munged = format!(
            "exec munged --foreground --force --key-file={place}/munge/key \
             --socket={place}/munge.socket --pid-file={place}/munge/pid \
             --log-file={place}/munge/log --seed-file={place}/munge/seed"
        );
        cluster.daemon("munged", &munged);
        until("munged answers", || {
            cluster.folder.join("munge.socket").exists().then_some(())
        });
        cluster.daemon("slurmctld", "exec slurmctld -D");
        for node in ["n1", "n2", "n3", "n4"] {
            cluster.start_node(node);
        }
        until("four nodes are idle", || {
            let output = cluster
                .command("sinfo", &["-h", "-t", "idle", "-o", "%D"])
                .output();
            (output.unwrap().stdout == b"4\n").then_some(())
        });
        cluster
    }

    fn daemon(&mut self, name: &str, script: &str) {
        let mut command = self.command("sh", &["-c", script]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.daemons
            .push((name.to_owned(), Running::of(&mut command)));
    }

    /// Starts a node, whose kernel calls it so.
    fn start_node(&mut self, node: &str) {
        let script = format!(
            "mkdir -p {}/spool.{node}
             exec unshare --uts sh -c 'hostname {node} && exec slurmd -D -N {node}'",
            self.folder.display()
        );
        self.daemon(node, &script);
    }

    /// Kills a node with the processes of its task, as a machine that loses power does.
    fn kill_node(&mut self, node: &str, processes: &str) {
        self.daemons.retain(|(name, _)| name != node);
        ran(Command::new("sh").args(["-c", &format!("kill -9 {processes}")]));
        ran(&mut self.command(
            "scontrol",
            &[
                "update",
                &format!("nodename={node}"),
                "state=down",
                "reason=dead",
            ],
        ));
    }

    /// A command that knows this cluster.
    fn command(&self, program: &str, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(words)
            .env("SLURM_CONF", &self.configuration)
            .env("NUMALAB", &self.quick)
            .env("NUMALAB_FLEET_STATE", self.folder.join("measured"));
        command
    }
}

/// Whether Slurm is here; otherwise reports that `test` is not run.
fn has_slurm(test: &str) -> bool {
    let is_there =
        |name: &&str| Path::new("/usr/sbin").join(name).is_file() || find(name, &[]).is_some();
    let programs = ["munged", "slurmctld", "slurmd", "sbatch"];
    let missing = programs.iter().find(|name| !is_there(name));
    if let Some(name) = missing {
        let why = format!("it needs {name} (cargo xtask test --only packages)");
        not_run(test, Need::Package, &why);
    }
    missing.is_none()
}

/// What a store has: the names of the experiments of its runs.
pub(crate) fn stored(laboratory: &Laboratory, store: &str) -> Vec<String> {
    let history = laboratory.document(&["history", "--json", "--store", store]);
    let runs = history["runs"].as_array().unwrap().iter();
    let mut names: Vec<String> = runs
        .map(|run| run["experiment"].as_str().unwrap().to_owned())
        .collect();
    names.sort_unstable();
    names
}

#[test]
fn slurm_measures_every_node_and_one_that_dies_is_missed_until_it_is_back() {
    let test = "slurm_measures_every_node_and_one_that_dies_is_missed_until_it_is_back";
    let Some(bin) = installed(test) else { return };
    if !has_slurm(test) || !is_root(test) {
        return;
    }
    let server = Server::start(&bin);
    let url = crate::stores_of_many::url(&server);
    let (laboratory, quick) = laboratory();
    let fed = laboratory
        .run(&["fleet", "feed", "--for", "slurm"])
        .with_code(0);
    let line = fed.stdout.lines().find(|it| it.starts_with("NodeName="));
    let features = line.unwrap().split(' ').next_back().unwrap();
    assert!(features.starts_with("Features=numa-nodes-"), "{features}");
    let mut cluster = Cluster::start(laboratory.folder(), &quick, features);
    let known = ran(&mut cluster.command("sinfo", &["-h", "-o", "Features=%f"]));
    assert_eq!(known.trim(), features);
    let first = features.trim_start_matches("Features=").split(',').next();
    let constraint = format!("--constraint={}", first.unwrap());
    let plan = laboratory.folder().join("october");
    let plan = plan.to_str().unwrap();
    let words = [
        "fleet", "plan", "doctor", "latency", "--for", "slurm", "--hosts", "n[1-4]",
    ];
    let planned = laboratory.run(&[&words[..], &["--to", &url, "--out", plan]].concat());
    let next = ["for 4 machines: doctor, latency", "sh submit.sh"];
    prints(&planned.with_code(0), &next);
    let status = || laboratory.run(&["fleet", "status", plan]);
    prints(
        &status().with_code(7),
        &["never answered: n1, n2, n3, n4\n"],
    );
    laboratory.file("dies", "n3\n");
    let submit = format!("{plan}/submit.sh");
    let job = ran(&mut cluster.command("sh", &[&submit, &constraint]));
    let middle = laboratory.folder().join("middle");
    let processes = until("n3 is in the middle", || fs::read_to_string(&middle).ok());
    cluster.kill_node("n3", processes.trim());
    let found = until("the others are done", || {
        let found = status();
        let is_there = found.stdout.contains(": 3 of 4 machines done");
        is_there.then_some(found)
    });
    let missing = [
        "1 partial",
        "doctor   4 of 4",
        "latency  3 of 4",
        "lacks latency: n3\n",
    ];
    prints(&found.with_code(7), &missing);
    // It comes back, and the plan is run again: what is done is neither done nor sent twice.
    laboratory.file("dies", "");
    ran(&mut cluster.command("scancel", &[job.trim()]));
    cluster.start_node("n3");
    ran(&mut cluster.command("sh", &[&submit]));
    until("no task is left", || {
        let left = ran(&mut cluster.command("squeue", &["-h"]));
        left.is_empty().then_some(())
    });
    prints(&status().with_code(0), &["complete, 4 machines\n"]);
    let document = laboratory.document(&["fleet", "status", plan, "--json"]);
    assert_eq!(document["progress"]["hosts"][2]["state"], "done");
    assert_eq!(
        stored(&laboratory, &url),
        [["doctor"; 4], ["latency"; 4]].concat()
    );
}

/// A container of a manifest: its name, and the capabilities that it adds.
fn containers(manifest: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for line in manifest.lines() {
        if let Some(name) = line.strip_prefix("      - name: ") {
            found.push((name.to_owned(), Vec::new()));
        }
        if let Some((_, names)) = line.split_once("add: [") {
            let names = names.trim_end_matches("]}").split(", ");
            found.last_mut().unwrap().1 = names.map(str::to_lowercase).collect();
        }
    }
    // The volumes.
    found.retain(|(name, _)| name != "plan" && name != "state");
    found
}

#[test]
fn the_containers_of_a_pod_work_with_exactly_what_the_manifest_gives_them() {
    let test = "the_containers_of_a_pod_work_with_exactly_what_the_manifest_gives_them";
    if !is_root(test) {
        return;
    }
    let (laboratory, quick) = laboratory();
    let target = Running::start(&["setpriv", "--reuid=1", "--clear-groups", "sleep", "600"]);
    let of_target = format!("doctor {}", target.pid());
    for (steps, user) in [(vec!["doctor", "latency"], NOBODY.0), (vec![&of_target], 0)] {
        let folder = laboratory.folder().join(format!("pod-{user}"));
        let folder = folder.to_str().unwrap();
        let options = ["--for", "kubernetes", "--image", "numalab", "--hosts", "w1"];
        let to = ["--to", "postgresql://numalab@db/fleet", "--out", folder];
        laboratory
            .run(&[&["fleet", "plan"], &steps[..], &options, &to].concat())
            .with_code(0);
        let manifest = fs::read_to_string(format!("{folder}/kubernetes.yaml")).unwrap();
        assert!(
            manifest.contains(&format!("runAsUser: {user}")),
            "{manifest}"
        );
        let sees_host = manifest.contains("hostPID: true");
        let (script, _) = manifest.split_once("\n---\n").unwrap();
        let (_, script) = script.split_once("fleet.sh: |\n").unwrap();
        // The store of this test is a file.
        let store = laboratory.folder().join(format!("store-{user}"));
        fs::create_dir(&store).unwrap();
        ran(Command::new("chown").args([&user.to_string(), store.to_str().unwrap()]));
        let store = store.join("runs.sqlite");
        let script = script.replace("postgresql://numalab@db/fleet", store.to_str().unwrap());
        let script = laboratory.file(&format!("fleet-{user}.sh"), script);
        for (container, capabilities) in containers(&manifest) {
            let of = |capabilities: &[String]| Container {
                folder: laboratory.folder(),
                store: store.parent().unwrap(),
                quick: &quick,
                user,
                sees_host,
                capabilities: capabilities.to_vec(),
            };
            if sees_host && container != "end" {
                let said = of(&[]).run(&script, &container);
                assert!(said.contains("CAP_SYS_PTRACE"), "{container}: {said}");
            }
            let said = of(&capabilities).run(&script, &container);
            assert!(!said.contains("numalab fleet:"), "{container}: {said}");
        }
        let store = store.to_str().unwrap();
        let status = laboratory.run(&["fleet", "status", folder, "--store", store]);
        prints(&status.with_code(0), &["complete, 1 machine\n"]);
    }
}

/// A container as its manifest describes it, made with util-linux.
struct Container<'c> {
    folder: &'c Path,
    store: &'c Path,
    quick: &'c str,
    user: u32,
    sees_host: bool,
    capabilities: Vec<String>,
}

impl Container<'_> {
    /// Runs the script with the name of a container; returns what it says.
    fn run(&self, script: &str, name: &str) -> String {
        let state = self.folder.join(format!("state-{}", self.user));
        let set: String = self
            .capabilities
            .iter()
            .map(|it| format!(",+{it}"))
            .collect();
        let processes = if self.sees_host {
            ""
        } else {
            "--pid --fork --mount-proc"
        };
        let inner = format!(
            "set -e; hostname w1
             mount --make-rprivate /
             for kept in {state} {store}; do mount --bind $kept $kept; done
             mount -o remount,bind,ro /
             exec setpriv --reuid={user} --regid={user} --clear-groups --no-new-privs \\
                 --inh-caps=-all --bounding-set=-all{set} env -i PATH=$PATH TMPDIR={state} \\
                 NUMALAB={quick} XDG_STATE_HOME={state} sh {script} {name}",
            state = state.display(),
            store = self.store.display(),
            user = self.user,
            quick = self.quick,
        );
        let outer = format!(
            "mkdir -p {state}; chown {} {state}
             exec unshare --mount --uts {processes} sh -c '{inner}' 2>&1",
            self.user,
            state = state.display(),
        );
        let output = Command::new("sh").args(["-c", &outer]).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

#[test]
fn what_cannot_be_planned_is_refused_by_name() {
    let laboratory = Laboratory::new();
    let check = |more: &[&str], expected: &[&str]| {
        let refused = laboratory.run(&[&["fleet", "plan", "--out", "new"], more].concat());
        refused.with_code(2).says(expected);
        assert!(!laboratory.folder().join("new").exists(), "{more:?}");
    };
    let slurm = ["--for", "slurm", "--hosts", "n1"];
    let to = |store| [&slurm[..], &["--to", store]].concat();
    check(
        &to("postgresql://a:secret@db/fleet"),
        &["the URL has a password", "~/.pgpass"],
    );
    check(&[&["no-such"], &to("s")[..]].concat(), &["no-such"]);
    check(
        &["--for", "slurm", "--to", "s"],
        &["slurm needs the names of hosts"],
    );
    check(
        &["--for", "slurm", "--to", "s", "--hosts", "dir/hosts"],
        &["there is no file dir/hosts"],
    );
    check(&["--for", "kubernetes", "--to", "s"], &["--image"]);
    check(
        &["--for", "kubernetes", "--to", "s", "--image", "x"],
        &["a pod reaches a store by a URL with a host"],
    );
    let full = laboratory.folder().to_str().unwrap();
    let words = [&["fleet", "plan", "--out", full], &to("s")[..]].concat();
    laboratory.run(&words).with_code(2).says(&["is not empty"]);
    laboratory
        .run(&["fleet", "status", "nowhere"])
        .with_code(2)
        .says(&["nowhere", "numalab fleet plan"]);
}
