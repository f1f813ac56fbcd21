//! One Prometheus with the shipped rules over twelve machines, as a team of administrators has it.
//!
//! Tests of serve, live.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use testing::tree::Unpacked;
use testing::{tree, unusual_machines};

use crate::laboratory::Laboratory;
use crate::patience::until;
use crate::prometheus::{program, query, started};
use crate::served::{Served, curl, has_curl};

const RULES: &str = include_str!("../../../../packaging/numalab-rules.yml");

/// Captured machines, and described ones: twelve of different shapes.
fn machines() -> Vec<Unpacked> {
    let captured = tree::names().unwrap();
    let captured = captured.iter().map(|name| tree::expand(name).unwrap());
    let described = unusual_machines::all().into_iter();
    let described = described.map(|(_, machine)| machine.tree().expand().unwrap());
    captured.chain(described).take(12).collect()
}

/// Returns the alerts that fire: machine and name.
fn firing(port: u16) -> Vec<(String, String)> {
    let url = format!("http://127.0.0.1:{port}/api/v1/alerts");
    let reply = curl(&url, &[]).with_status(200).document();
    let alerts = reply["data"]["alerts"].as_array().unwrap().iter();
    let fire = alerts.filter(|alert| alert["state"] == "firing");
    let label = |alert: &Value, name: &str| alert["labels"][name].as_str().unwrap().to_owned();
    fire.map(|it| (label(it, "instance"), label(it, "alertname")))
        .collect()
}

/// Gives node 1 of the machine with two nodes this much free memory.
fn set_free(machine: &Unpacked, kib: u64) {
    let path = machine.path().join("sys/devices/system/node/node1/meminfo");
    let before = fs::read_to_string(&path).unwrap();
    let lines = before.lines().map(|line| match line.contains(" MemFree:") {
        true => format!("Node 1 MemFree: {kib} kB\n"),
        false => format!("{line}\n"),
    });
    replace(&path, &lines.collect::<String>());
}

/// Whoever reads it meanwhile has one text or the other.
fn replace(path: &Path, text: &str) {
    let written = path.with_extension("new");
    fs::write(&written, text).unwrap();
    fs::rename(written, path).unwrap();
}

/// Gives node 1 of a machine eight huge pages, of which so many are free.
fn set_free_huge_pages(machine: &Unpacked, free: u32) {
    let pools = "sys/devices/system/node/node1/hugepages/hugepages-2048kB";
    let pool = machine.path().join(pools);
    fs::create_dir_all(&pool).unwrap();
    for (name, pages) in [("free", free), ("surplus", 0), ("nr", 8)] {
        replace(
            &pool.join(format!("{name}_hugepages")),
            &format!("{pages}\n"),
        );
    }
}

/// Checks that each machine has the nodes of its own.
fn check_nodes(port: u16, servers: &[Served]) {
    let nodes: BTreeMap<String, usize> = query(port, "count by (instance)(numalab_node_cpus)")
        .iter()
        .map(|it| {
            let instance = it["metric"]["instance"].as_str().unwrap().to_owned();
            (instance, it["value"][1].as_str().unwrap().parse().unwrap())
        })
        .collect();
    for server in servers {
        let shown = server.get("/api/snapshot").with_status(200).document();
        let expected = shown["nodes"].as_array().unwrap().len();
        assert_eq!(nodes[&server.address.to_string()], expected, "{nodes:?}");
    }
    assert!(nodes.values().any(|it| *it == 32), "{nodes:?}");
}

/// Writes the configuration and the rules; returns its path.
fn configuration(laboratory: &Laboratory, targets: &[String]) -> String {
    // The rules as they are shipped, but for their patience.
    let rules = RULES
        .lines()
        .map(|line| match line.trim().starts_with("for: ") {
            true => "        for: 1s\n".to_owned(),
            false => format!("{line}\n"),
        });
    laboratory.file("rules.yml", rules.collect::<String>());
    let configuration = format!(
        "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [rules.yml]\n\
         scrape_configs:\n- job_name: numalab\n  static_configs: [{{targets: {targets:?}}}]\n"
    );
    laboratory.file("prometheus.yml", configuration)
}

#[test]
fn alerts_of_one_of_twelve_machines_fire_and_resolve() {
    let test = "alerts_of_one_of_twelve_machines_fire_and_resolve";
    let Some(prometheus) = program(test, "prometheus") else {
        return;
    };
    if !has_curl(test) {
        return;
    }
    let laboratory = Laboratory::new();
    let machines = machines();
    // Each has runs of its own; those of the last one are no store.
    let store = |at: usize| format!("runs{at}.sqlite");
    let broken = laboratory.file(&store(machines.len() - 1), "no store");
    let serve = |(at, machine): (usize, &Unpacked)| {
        let (root, store) = (machine.path().to_str().unwrap(), store(at));
        let options = ["--listen", "127.0.0.1:0", "--root", root, "--store", &store];
        Served::with(&laboratory, &options)
    };
    let servers: Vec<Served> = machines.iter().enumerate().map(serve).collect();
    let targets: Vec<String> = servers.iter().map(|it| it.address.to_string()).collect();
    let is_pair = |it: &&(&Unpacked, &String)| {
        let nodes = it.0.path().join("sys/devices/system/node");
        fs::read_to_string(nodes.join("online")).is_ok_and(|it| it.trim() == "0-1")
            && nodes.join("node1/meminfo").is_file()
    };
    let pairs = machines.iter().zip(&targets);
    let (pair, address) = pairs.rev().find(|it| is_pair(&it)).unwrap();
    let configuration = configuration(&laboratory, &targets);
    let words = [
        format!("--config.file={configuration}"),
        format!(
            "--storage.tsdb.path={}",
            laboratory.state().join("data").display()
        ),
        "--web.listen-address=127.0.0.1:PORT".to_owned(),
    ];
    let (_running, port) = started(&prometheus, &words);
    until("all twelve are scraped", || {
        let up = query(port, "sum(up{job=\"numalab\"})");
        (up.first()?["value"][1] == "12").then_some(())
    });
    check_nodes(port, &servers);
    let alert = |address: &String, name: &str| (address.clone(), format!("Numalab{name}"));
    let unreadable = alert(targets.last().unwrap(), "StoreUnreadable");
    let nearly_full = alert(address, "NodeNearlyFull");
    let unused = alert(address, "HugePagesUnused");
    // What fires, and nothing else.
    let fire = |mut expected: Vec<&(String, String)>| {
        expected.sort_unstable();
        until(&format!("these fire: {expected:?}"), || {
            let mut all = firing(port);
            all.sort_unstable();
            all.iter().eq(expected.iter().copied()).then_some(())
        });
    };
    fire(vec![&unreadable]);
    set_free(pair, 1);
    fire(vec![&unreadable, &nearly_full]);
    set_free_huge_pages(pair, 8);
    fire(vec![&unreadable, &nearly_full, &unused]);
    fs::remove_file(broken).unwrap();
    fire(vec![&nearly_full, &unused]);
    set_free(pair, 500_000);
    set_free_huge_pages(pair, 7);
    fire(Vec::new());
}
