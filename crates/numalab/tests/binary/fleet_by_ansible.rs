//! A plan for a fleet, played by Ansible: on this host, and on four machines reached by ssh.
//!
//! Tests of orchestrators, store.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use testing::{Need, not_run};

use crate::fleet_plans::{laboratory, prints, ran, stored};
use crate::patience::until;
use crate::postgres_server::{Server, installed};
use crate::running::Running;
use crate::unmet_need::is_root;
use crate::unpacked_programs::find;
use crate::user::open_to_all;

/// Machines that ssh reaches: namespaces with a name, a network and a home of their own, each with
/// the server of ssh that Ansible asks for.
struct Machines {
    folder: PathBuf,
    up: Vec<(String, Running)>,
}

impl Machines {
    /// Makes the keys; no machine is up.
    fn new(folder: PathBuf) -> Self {
        fs::create_dir(&folder).unwrap();
        let key = |program: &str, words: &[&str]| {
            ran(Command::new(program).args(words).current_dir(&folder));
        };
        key("dropbearkey", &["-t", "ed25519", "-f", "host"]);
        key(
            "ssh-keygen",
            &["-q", "-t", "ed25519", "-N", "", "-f", "key"],
        );
        Machines {
            folder,
            up: Vec::new(),
        }
    }

    fn start(&mut self, name: &str) {
        let folder = self.folder.display();
        let script = format!(
            "hostname {name} && ip link set lo up && mount -t tmpfs -o mode=700 home ~root &&
             mkdir -m 700 ~root/.ssh && cp {folder}/key.pub ~root/.ssh/authorized_keys &&
             exec dropbear -F -r {folder}/host -p 127.0.0.1:22 -P {folder}/{name}.pid"
        );
        let words = ["--mount", "--uts", "--net", "sh", "-c", &script];
        let machine = Running::of(Command::new("unshare").args(words));
        let pid = self.folder.join(format!("{name}.pid"));
        until("the machine is up", || pid.exists().then_some(()));
        self.up.push((name.to_owned(), machine));
    }

    /// How Ansible reaches one, as the variables of a host: by ssh in the network of the machine.
    /// One that is not up has none.
    fn variables(&self, name: &str) -> String {
        let machine = self.up.iter().find(|(it, _)| it == name);
        let pid = machine.map_or("0".to_owned(), |(_, it)| it.pid());
        let ssh = self.folder.join(format!("ssh-{name}"));
        let there = format!("nsenter --target {pid} --net");
        // 255: ssh reaches nothing.
        let text = format!("#!/bin/sh\n{there} true || exit 255\nexec {there} ssh \"$@\"\n");
        fs::write(&ssh, text).unwrap();
        open_to_all(&ssh);
        format!(
            "ansible_host: 127.0.0.1\nansible_user: root\nansible_ssh_executable: {}\n\
             ansible_ssh_private_key_file: {}/key\nansible_ssh_transfer_method: piped\n\
             ansible_ssh_args: -F none -o ControlMaster=no -o StrictHostKeyChecking=no -o \
             UserKnownHostsFile=/dev/null\n",
            ssh.display(),
            self.folder.display()
        )
    }
}

/// Whether ssh, its small server and Ansible are here; otherwise reports that `test` is not run.
fn has_ansible(test: &str) -> Option<PathBuf> {
    let more = "(cargo xtask test --only packages)";
    for name in ["ssh", "ip", "dropbear"] {
        if find(name, &[]).is_none() && !Path::new("/usr/sbin").join(name).is_file() {
            not_run(test, Need::Package, &format!("it needs {name} {more}"));
            return None;
        }
    }
    let playbook = find("ansible-playbook", &["ansible"]);
    if playbook.is_none() {
        let why = format!("it needs ansible-playbook {more}");
        not_run(test, Need::Network, &why);
    }
    playbook
}

/// What plays the plan: its folder, the playbook's program, the variables of all hosts.
struct Controller<'c> {
    folder: &'c str,
    playbook: PathBuf,
    variables: String,
}

impl Controller<'_> {
    /// A program of Ansible.
    fn ansible(&self, name: &str, words: &[&str]) -> Command {
        let mut command = Command::new(self.playbook.with_file_name(name));
        command
            .args(["-i", "inventory.ini", "-e", &self.variables])
            .args(words)
            .current_dir(self.folder)
            .env("ANSIBLE_HOME", format!("{}/home", self.folder))
            .env("ANSIBLE_PIPELINING", "1")
            .env("LC_ALL", "C.UTF-8");
        command
    }

    /// Says how a host is reached.
    fn reaches(&self, host: &str, variables: &str) {
        fs::create_dir_all(format!("{}/host_vars", self.folder)).unwrap();
        let file = format!("{}/host_vars/{host}.yml", self.folder);
        fs::write(file, variables).unwrap();
    }

    #[track_caller]
    fn plays(&self, limit: &str, code: i32) {
        let words = ["site.yml", "--limit", limit];
        let played = self.ansible("ansible-playbook", &words).output().unwrap();
        let said = String::from_utf8_lossy(&played.stdout);
        assert_eq!(played.status.code(), Some(code), "{said}");
    }

    /// The local facts of a host.
    fn facts(&self, host: &str, folder: &Path) -> Value {
        let path = format!("fact_path={} filter=ansible_local", folder.display());
        let facts = ran(&mut self.ansible("ansible", &[host, "-m", "setup", "-a", &path]));
        let (_, facts) = facts.split_once("=> ").unwrap();
        let mut facts: Value = serde_json::from_str(facts).unwrap();
        facts["ansible_facts"]["ansible_local"]["numalab"].take()
    }
}

#[test]
fn this_host_and_four_machines_are_measured_of_which_one_is_away_first() {
    let test = "this_host_and_four_machines_are_measured_of_which_one_is_away_first";
    let Some(bin) = installed(test) else { return };
    if !is_root(test) {
        return;
    }
    let Some(playbook) = has_ansible(test) else {
        return;
    };
    let server = Server::start(&bin);
    let url = crate::stores_of_many::url(&server);
    let (laboratory, quick) = laboratory();
    let place = laboratory.folder();
    let folder = place.join("ansible");
    let folder = folder.to_str().unwrap();
    let host = ran(Command::new("uname").arg("-n"));
    let hosts = laboratory.file("hosts", format!("{host}m1\nm2\nm3\nm4\n"));
    let plan = ["fleet", "plan", "--for", "ansible", "--hosts", &hosts];
    let planned = laboratory.run(&[&plan[..], &["--to", &url, "--out", folder]].concat());
    planned.with_code(0);
    // A machine has no file system of its own here.
    let here = format!("{}/{{{{ inventory_hostname }}}}", place.display());
    let variables = format!(
        "numalab_program: {quick}\nnumalab_folder: \"{here}\"\n\
         numalab_facts_folder: \"{here}/facts\"\nnumalab_become: false\n\
         ansible_python_interpreter: /usr/bin/python3\n"
    );
    let controller = Controller {
        folder,
        playbook,
        variables: format!("@{}", laboratory.file("variables.yml", variables)),
    };
    let status = || laboratory.run(&["fleet", "status", folder]);
    let mut machines = Machines::new(place.join("machines"));
    for name in ["m1", "m2", "m3"] {
        machines.start(name);
    }
    controller.reaches(host.trim(), "ansible_connection: local\n");
    for name in ["m1", "m2", "m3", "m4"] {
        controller.reaches(name, &machines.variables(name));
    }
    // 4: a host could not be reached.
    controller.plays("all", 4);
    let away = ["4 of 5 machines done", "never answered: m4\n"];
    prints(&status().with_code(7), &away);
    machines.start("m4");
    controller.reaches("m4", &machines.variables("m4"));
    // What m1 did is neither done nor sent again.
    controller.plays("m1,m4", 0);
    prints(&status().with_code(0), &["complete, 5 machines\n"]);
    let expected = [["doctor"; 5], ["latency"; 5]].concat();
    assert_eq!(stored(&laboratory, &url), expected);
    for name in [host.trim(), "m4"] {
        let facts = controller.facts(name, &place.join(name).join("facts"));
        assert_eq!(facts["format"], "numalab.facts/1");
        let local = facts["figures"]["local_ns"].as_f64();
        assert!(local > Some(0.0), "{name}: {facts:#}");
    }
}
