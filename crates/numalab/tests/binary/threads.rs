//! Threads by role, judged by ps(1), taskset(1) and the kernel's files as a shell reads them.
//!
//! Tests of residency, linux.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Command;

use serde_json::Value;
use testing::{Need, not_run};

use crate::laboratory::Laboratory;
use crate::running::Running;
use crate::unmet_need::is_guest;

/// A server with the name in its first argument. Each further argument is a thread: its name, the
/// CPUs it takes, and perhaps the node it binds its memory to. With `MIB`, the first thread touches
/// as much private memory before. It prints a line when all have done so, and ends with its input.
const SERVER: &str = r"
import ctypes, mmap, os, platform, sys, threading
libc = ctypes.CDLL(None)
set_mempolicy = {'x86_64': 238}.get(platform.machine(), 237)
end, ready = threading.Event(), threading.Barrier(len(sys.argv) - 1)
def run(words):
    name, cpus, *node = words.split(':')
    libc.prctl(15, name.encode())
    os.sched_setaffinity(0, {int(cpu) for cpu in cpus.split(',')})
    if node:
        mask = ctypes.c_ulong(1 << int(node[0]))
        assert libc.syscall(set_mempolicy, 2, ctypes.byref(mask), 64) == 0
    ready.wait()
    end.wait()
memory = mmap.mmap(-1, (int(os.environ.get('MIB', 0)) << 20) + 4096, mmap.MAP_PRIVATE)
for at in range(0, len(memory), 4096):
    memory[at] = 1
for words in sys.argv[2:]:
    threading.Thread(target=run, args=[words], daemon=True).start()
libc.prctl(15, sys.argv[1].encode())
ready.wait()
print('ready', flush=True)
sys.stdin.read()
";

/// Starts the server under a command such as taskset(1), with these threads.
fn server(before: &[&str], name: &str, threads: &[&str], mib: u32) -> Running {
    let words = [before, &["python3", "-c", SERVER, name], threads].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).env("MIB", mib.to_string());
    let stdio = std::process::Stdio::piped;
    let mut server = Running::of(command.stdin(stdio()).stdout(stdio()));
    let mut line = String::new();
    let stdout = server.0.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    server
}

/// What a shell prints.
fn shell(script: &str) -> String {
    let output = Command::new("sh").args(["-c", script]).output().unwrap();
    assert!(output.status.success(), "{script}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn roles(document: &Value) -> BTreeMap<String, Value> {
    let roles = document["threads"]["roles"].as_array().unwrap().iter();
    let word = |role: &Value| role["role"].as_str().unwrap().to_owned();
    roles.map(|role| (word(role), role.clone())).collect()
}

/// The threads of a role by node, as ps(1) and the lists of CPUs of the nodes have them.
fn seen_by_ps(pid: &str, name: &str) -> BTreeMap<String, u64> {
    let mut seen = BTreeMap::new();
    for line in shell(&format!("ps -L -o psr=,comm= -p {pid}")).lines() {
        let (cpu, comm) = line.trim().split_once(' ').unwrap();
        if comm.trim().starts_with(name) {
            let node = format!("echo /sys/devices/system/cpu/cpu{cpu}/node*");
            let node = shell(&node);
            // A kernel without NUMA has no nodes of CPUs.
            let node = node.trim().rsplit_once("/node").unwrap().1;
            let node = if node == "*" { "0" } else { node };
            *seen.entry(node.to_owned()).or_default() += 1;
        }
    }
    seen
}

#[test]
fn threads_are_where_ps_and_taskset_say_with_the_policy_that_they_set() {
    const TEST: &str = "threads_are_where_ps_and_taskset_say_with_the_policy_that_they_set";
    let cpus = linux::affinity::of_this_thread().unwrap();
    let [one, .., other] = cpus.as_slice() else {
        return not_run(TEST, Need::Hardware, "it needs two CPUs");
    };
    let node = topology::read(&linux::Root::live()).unwrap().memory_nodes();
    let node = node.first().unwrap();
    let laboratory = Laboratory::new();
    let threads = [
        format!("io_thd_1:{one}"),
        format!("io_thd_2:{other}"),
        format!("bio_lazy_free:{other}:{node}"),
        format!("a name) 17:{one},{other}"),
    ];
    let threads = threads.each_ref().map(String::as_str);
    let server = server(&[], "valkey-server", &threads, 0);
    let pid = server.pid();
    let found = laboratory.document(&["inspect", &pid, "--json"]);
    let (all, roles) = (&found["threads"], roles(&found));
    assert_eq!(
        (&all["threads"], &all["ended"], &all["unread"]),
        (&5.into(), &0.into(), &0.into())
    );
    for (role, name, count) in [
        ("I/O thread", "io_thd_", 2),
        ("background job", "bio_", 1),
        ("main (runs commands)", "valkey-server", 1),
        ("other", "a name) 17", 1),
    ] {
        let role = &roles[role];
        assert_eq!(role["threads"], count, "{all:#}");
        let seen = serde_json::to_value(seen_by_ps(&pid, name)).unwrap();
        assert_eq!(role["last_seen_by_node"], seen, "{all:#}");
        for mask in role["masks"].as_array().unwrap() {
            let said = shell(&format!("taskset --cpu-list --pid {}", mask["tid"]));
            let list = said.trim().rsplit(' ').next().unwrap();
            let expected: model::CpuSet = list.parse().unwrap();
            assert_eq!(mask["cpus"], expected.to_string(), "{all:#}");
            let (tid, policies) = (&mask["tid"], role["policies"].as_object().unwrap());
            let file = format!("/proc/{pid}/task/{tid}/numa_maps");
            let policy = shell(&format!("head -n 1 {file} | cut -d' ' -f2"));
            assert!(policies.contains_key(policy.trim()), "{policy} {all:#}");
        }
    }
    let bound = format!("bind:{node}");
    assert_eq!(roles["background job"]["policies"][&bound], 1, "{all:#}");
    assert_eq!(roles["I/O thread"]["policies"]["default"], 2, "{all:#}");
    assert_eq!(roles["other"]["source"], Value::Null);
    let text = laboratory.run(&["inspect", &pid]).with_code(0).stdout;
    let policy = format!("policy of background job: {bound} (1)");
    for words in [
        "Threads by role",
        "I/O thread ",
        "other: a name) N ",
        &policy,
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // The kernel moves no thread between these looks: all of them sleep.
    let archive = laboratory.file("machine.tar.zst", "");
    laboratory.run(&["capture", &archive, &pid]).with_code(0);
    let there = laboratory.document(&["inspect", &pid, "--root", &archive, "--json"]);
    for (role, here) in &roles {
        let there = &self::roles(&there)[role];
        for part in ["masks", "policies", "last_seen_by_node", "threads", "cpus"] {
            assert_eq!(here[part], there[part], "{role} {part}");
        }
    }
}

#[test]
fn a_thousand_threads_are_counted_and_stay_one_screen() {
    let laboratory = Laboratory::new();
    let cpus = linux::affinity::of_this_thread().unwrap();
    let cpu = cpus.first().unwrap();
    let threads: Vec<_> = (0..1000).map(|at| format!("x{at}y:{cpu}")).collect();
    let threads: Vec<&str> = threads.iter().map(String::as_str).collect();
    let server = server(&[], "server", &threads, 0);
    let pid = server.pid();
    let found = laboratory.document(&["inspect", &pid, "--json"]);
    let count = fs::read_dir(format!("/proc/{pid}/task")).unwrap().count();
    assert_eq!(found["threads"]["threads"], count);
    let text = laboratory.run(&["inspect", &pid]).with_code(0).stdout;
    let (_, section) = text.split_once("Threads by role").unwrap();
    let section = section.split("\n\n").next().unwrap();
    assert!(section.lines().count() < 30, "{section}");
    assert!(section.lines().all(|line| line.len() <= 80), "{section}");
}

fn ids(document: &Value) -> Vec<&str> {
    let findings = document["findings"].as_array().unwrap().iter();
    findings.map(|it| it["id"].as_str().unwrap()).collect()
}

#[test]
fn a_server_that_counts_cpus_from_0_and_io_threads_far_from_the_data_are_found() {
    const TEST: &str =
        "a_server_that_counts_cpus_from_0_and_io_threads_far_from_the_data_are_found";
    // Node 0 has CPUs 0 and 1, node 1 has CPUs 2 and 3.
    if !is_guest(TEST, "two-node") {
        return;
    }
    let laboratory = Laboratory::new();
    let diagnosed = |server: &Running| laboratory.document(&["doctor", &server.pid(), "--json"]);
    let on_node_1 = ["taskset", "--cpu-list", "2-3"];
    let numbered = server(
        &on_node_1,
        "valkey-server",
        &["worker-0:0", "worker-1:1"],
        32,
    );
    let found = diagnosed(&numbered);
    assert!(ids(&found).contains(&"threads-on-first-cpus"), "{found:#}");
    assert!(!ids(&found).contains(&"io-threads-far"), "{found:#}");
    let far = server(&on_node_1, "valkey-server", &["io_thd_1:0,1", "x:2,3"], 32);
    let found = diagnosed(&far);
    assert!(ids(&found).contains(&"io-threads-far"), "{found:#}");
    let roles = roles(&found);
    let io = &roles["I/O thread"];
    assert_eq!(io["nodes_of_cpus"], "0");
    assert!(io["data_local_share"].as_f64() < Some(0.1), "{io:#}");
    let placed = server(&on_node_1, "valkey-server", &["io_thd_1:2,3"], 32);
    let found = diagnosed(&placed);
    let of_threads = |id: &&&str| id.starts_with("threads-") || **id == "io-threads-far";
    assert_eq!(ids(&found).iter().find(of_threads), None, "{found:#}");
}
