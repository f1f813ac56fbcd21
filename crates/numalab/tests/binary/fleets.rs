//! Fleets of machines that should be equal: made of captured machines, with faults that are known.
//!
//! Tests of fleet, stats, store, report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use model::{
    Case, CasePlan, Diagnosis, KeptDiagnosis, LiveMeasured, LiveRun, Machine, Measured,
    MemoryLatency, Metric, Node, NodeId, Outcome, Placement, Run, RunStatus, Topology, Trial, Work,
};
use serde_json::Value;
use stats::Generator;
use store::Store;
use testing::Tree;

use crate::laboratory::Laboratory;
use crate::postgres_server::{Server, installed};
use crate::stores_of_many::url;

/// Trials of one cell of `numalab latency --anyway` on a busy virtual machine with two CPUs, by
/// their median: what trials are drawn from, a quarter as wide, since numalab measures until
/// intervals are within 2 %.
const TRIALS: [f64; 12] = [
    -0.0118, 0.0734, -0.0021, 0.1843, 0.0863, -0.0395, 0.0003, -0.0734, -0.0003, 0.0457, 0.0207,
    -0.0005,
];
/// Trials of each case.
const TRIALS_OF_CASE: usize = 6;
/// Spread of machines, with the tails of Student's t with 4 degrees of freedom.
const SPREAD: f64 = 0.01;
/// What firmware and kernel keep of the memory of a node, at most.
const KEPT_BYTES: u32 = 24 << 20;

/// The machines of a fleet: captured ones, how many of each, memory of a node.
const MODELS: [(&str, &str, usize); 4] = [
    ("two-node", "Model A 9654", 3_500),
    ("four-node-ring", "Model B 6458Q", 400),
    ("eight-node", "Model C 7763", 96),
    ("one-node", "Model D", 4),
];
const NODE_BYTES: u64 = 256 << 30;

/// What is planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    Module,
    MoreNodes,
    Distances,
    HugePages,
    SlowNode,
    LowBandwidth,
    Setting,
    Kernel,
    OfflineCpu,
    Firmware,
}

impl Fault {
    const ALL: [Fault; 10] = [
        Fault::Module,
        Fault::MoreNodes,
        Fault::Distances,
        Fault::HugePages,
        Fault::SlowNode,
        Fault::LowBandwidth,
        Fault::Setting,
        Fault::Kernel,
        Fault::OfflineCpu,
        Fault::Firmware,
    ];

    /// The kind of the finding that names it.
    fn kind(self) -> &'static str {
        match self {
            Fault::Module => "memory",
            Fault::MoreNodes => "nodes",
            Fault::Distances => "distances",
            Fault::HugePages => "huge-pages",
            Fault::SlowNode | Fault::LowBandwidth => "figure",
            Fault::Setting => "setting",
            Fault::Kernel => "kernel",
            Fault::OfflineCpu => "cpus",
            Fault::Firmware => "firmware",
        }
    }

    /// Changes what a machine is.
    fn change(self, machine: &mut Machine, kept: &mut KeptDiagnosis) {
        let topology = &mut machine.topology;
        let last = topology.nodes.last_mut().unwrap();
        match self {
            Fault::Module => *last.memory_bytes.as_mut().unwrap() -= NODE_BYTES / 12,
            Fault::MoreNodes => {
                last.memory_bytes = Some(NODE_BYTES / 2);
                let half = Node {
                    id: NodeId(last.id.0 + 1),
                    ..last.clone()
                };
                topology.nodes.push(half);
            }
            Fault::Distances => topology.distances.as_mut().unwrap()[0][1] = Some(31),
            Fault::HugePages => last.huge_pages[0].total -= 1,
            Fault::SlowNode | Fault::LowBandwidth => {}
            Fault::Setting => topology.settings.zone_reclaim_mode = Some(1),
            Fault::Kernel => machine.kernel = "6.1.0-17-amd64".to_owned(),
            Fault::OfflineCpu => topology.cpus = topology.cpus.iter().skip(1).collect(),
            Fault::Firmware => {
                kept.identity
                    .insert("bios_version".to_owned(), "1.7.1".to_owned());
            }
        }
    }

    /// By how much a figure from one node to another is more.
    fn factor(self, metric: Metric, to: u32) -> f64 {
        match self {
            Fault::SlowNode if metric == Metric::NsPerAccess && to == 1 => 1.7,
            Fault::LowBandwidth if metric == Metric::BytesPerSecond && to == 0 => 0.5,
            _ => 1.0,
        }
    }
}

/// A fleet in a store, and which host has which fault.
struct Fleet {
    generator: Generator,
    store: Store,
    faults: BTreeMap<String, Fault>,
}

impl Fleet {
    fn new(path: &Path) -> Self {
        Fleet {
            generator: Generator::new(45, 0),
            store: Store::open(path).unwrap(),
            faults: BTreeMap::new(),
        }
    }

    /// Adds machines of a model: a fault on every machine whose number is in `faults`.
    fn add(&mut self, tree: &str, model: &str, count: usize, faults: &BTreeMap<usize, Fault>) {
        let captured = Tree::captured(tree).unwrap().expand().unwrap();
        let root = linux::Root::at(captured.path()).unwrap();
        let topology = topology::read(&root).unwrap();
        for number in 0..count {
            let host = format!("{tree}-{:02}-{:03}", number / 100, number % 100);
            let fault = faults.get(&number).copied();
            self.add_machine(&host, model, topology.clone(), fault);
            self.faults.extend(fault.map(|fault| (host, fault)));
        }
    }

    fn add_machine(&mut self, host: &str, model: &str, topology: Topology, fault: Option<Fault>) {
        let mut machine = Machine {
            host: host.to_owned(),
            kernel: "6.1.0-18-amd64".to_owned(),
            cpu_model: Some(model.to_owned()),
            hypervisor: None,
            emulated: Some(false),
            numalab: "0.1.0".to_owned(),
            last_level_cache: None,
            working_set: None,
            topology,
        };
        machine.topology.cpu_model = Some(model.to_owned());
        machine.topology.emulated = Some(false);
        for node in &mut machine.topology.nodes {
            let kept = u64::from(self.generator.below(KEPT_BYTES));
            node.memory_bytes = Some(NODE_BYTES - kept);
            node.free_bytes = Some(self.generator.word() % NODE_BYTES);
            for pool in &mut node.huge_pages {
                pool.total = 1024;
            }
        }
        let mut kept = KeptDiagnosis {
            diagnosis: Diagnosis::default(),
            identity: BTreeMap::from([("bios_version".to_owned(), "1.7.2".to_owned())]),
            ..KeptDiagnosis::default()
        };
        if let Some(fault) = fault {
            fault.change(&mut machine, &mut kept);
        }
        for metric in [Metric::NsPerAccess, Metric::BytesPerSecond] {
            let run = self.run(host, &machine, metric, fault);
            self.store.insert(&run).unwrap();
        }
        let live = LiveRun {
            id: format!("doctor-{host}"),
            label: None,
            started_at: "2026-11-28T06:00:00+00:00".to_owned(),
            status: RunStatus::Settled,
            machine,
            measured: LiveMeasured::Doctor(Box::new(kept)),
        };
        self.store.put_live(&live).unwrap();
    }

    /// A run of `latency` or `bandwidth`.
    fn run(&mut self, host: &str, machine: &Machine, metric: Metric, fault: Option<Fault>) -> Run {
        let (experiment, usual) = match metric {
            Metric::NsPerAccess => ("latency", 90.0),
            _ => ("bandwidth", 40e9),
        };
        let of_machine = self.student();
        let nodes: Vec<NodeId> = machine.topology.nodes.iter().map(|node| node.id).collect();
        let mut cases = Vec::new();
        for from in &nodes {
            for to in &nodes {
                let distance = 1.0 + 0.4 * f64::from(from.0.abs_diff(to.0));
                let usual = match metric {
                    Metric::NsPerAccess => usual * distance,
                    _ => usual / distance,
                };
                let factor = fault.map_or(1.0, |fault| fault.factor(metric, to.0));
                let own = SPREAD * (0.7 * of_machine + 0.7 * self.student());
                cases.push(self.case(&format!("from-{from}-to-{to}"), usual * factor * own.exp()));
            }
        }
        Run {
            id: format!("{experiment}-{host}"),
            experiment: experiment.to_owned(),
            question: String::new(),
            definition: String::new(),
            started_at: "2026-11-28T05:00:00+00:00".to_owned(),
            status: RunStatus::Settled,
            machine: Some(machine.clone()),
            seed: 0,
            metric,
            baseline: "from-0-to-0".to_owned(),
            asks_about_memory: true,
            window_s: None,
            calibration: None,
            cases,
            skipped: Vec::new(),
        }
    }

    fn case(&mut self, name: &str, value: f64) -> Case {
        let work = Work::MemoryLatency(MemoryLatency {
            home_cpu: model::CpuId(0),
            awake_cpus: Arc::default(),
            page_kind: None,
            working_set_bytes: 1 << 30,
            by_tlb_groups: true,
            first_visits: false,
            windows: 1,
            window_ns: 1,
        });
        let plan = CasePlan {
            name: name.to_owned(),
            about: String::new(),
            placement: Placement::inherited(),
            work,
        };
        let trials = (0..TRIALS_OF_CASE as u32).map(|round| {
            let drawn = TRIALS[self.generator.below(TRIALS.len() as u32) as usize];
            Trial {
                round,
                outcome: Outcome::Valid,
                measured: Some(Measured {
                    value: value * (1.0 + drawn / 4.0),
                    window_s: None,
                    warm_up_s: None,
                    sessions: None,
                    kernel: None,
                }),
                ..Trial::failed(round, String::new())
            }
        });
        let trials = trials.collect();
        Case { plan, trials }
    }

    /// Student's t with 4 degrees of freedom, by its variance.
    fn student(&mut self) -> f64 {
        let squares: f64 = (0..4).map(|_| self.generator.normal().powi(2)).sum();
        self.generator.normal() / (squares / 4.0).sqrt() / 2f64.sqrt()
    }
}

/// The faults of a model with many machines: each kind once, on machines far from one another.
fn one_of_each(count: usize) -> BTreeMap<usize, Fault> {
    let apart = count / Fault::ALL.len();
    let faults = Fault::ALL.iter().enumerate();
    faults
        .map(|(index, fault)| (index * apart + 7, *fault))
        .collect()
}

/// A folder in memory where there is one: each trial is on disk before the next begins, which takes
/// longer than the comparison.
fn folder() -> tempfile::TempDir {
    let in_memory = tempfile::tempdir_in("/dev/shm");
    in_memory.or_else(|_| tempfile::tempdir()).unwrap()
}

/// The hosts of a document's findings, with the kinds of what differs.
fn found(document: &Value) -> BTreeSet<(String, String)> {
    let groups = document["groups"].as_array().unwrap().iter();
    let findings = groups.flat_map(|group| group["findings"].as_array().unwrap());
    let of = |finding: &Value| {
        let kind = finding["kind"].as_str().unwrap().to_owned();
        let hosts = finding["hosts"].as_array().unwrap().clone();
        hosts
            .into_iter()
            .map(move |host| (host.as_str().unwrap().to_owned(), kind.clone()))
    };
    findings.flat_map(of).collect()
}

/// Compares a fleet: every fault is found with its kind, and nothing else is.
#[track_caller]
fn check(store: &Path, faults: &BTreeMap<String, Fault>) -> Value {
    let laboratory = Laboratory::new();
    let store = store.to_str().unwrap();
    let document = laboratory.document(&["fleet", "compare", "--store", store, "--json"]);
    let planted: BTreeSet<(String, String)> = faults
        .iter()
        .map(|(host, fault)| (host.clone(), fault.kind().to_owned()))
        .collect();
    let found = found(&document);
    let missed: Vec<_> = planted.difference(&found).collect();
    let false_alarms: Vec<_> = found.difference(&planted).collect();
    eprintln!(
        "{} machines, {} planted, {} found, {} false alarms",
        document["machines"],
        planted.len(),
        planted.len() - missed.len(),
        false_alarms.len()
    );
    assert!(missed.is_empty(), "missed: {missed:?}");
    assert!(false_alarms.is_empty(), "false alarms: {false_alarms:?}");
    document
}

#[test]
fn thirty_faults_among_four_thousand_machines_are_found_and_nothing_else() {
    let folder = folder();
    // Kept for whoever wants to look at it, or to time the command.
    let kept = std::env::var_os("NUMALAB_BUILD_FLEET");
    let path = kept.map_or(folder.path().join("fleet.sqlite"), Into::into);
    let mut fleet = Fleet::new(&path);
    for (tree, model, count) in MODELS {
        let faults = match count {
            10.. => one_of_each(count),
            _ => BTreeMap::new(),
        };
        fleet.add(tree, model, count, &faults);
    }
    assert_eq!(fleet.faults.len(), 30);
    let document = check(&path, &fleet.faults);
    assert_eq!(document["machines"], 4_000);
    assert_eq!(document["groups"].as_array().unwrap().len(), MODELS.len());
}

/// Forty machines with a fault of each kind.
fn forty(path: &Path) -> Fleet {
    let mut fleet = Fleet::new(path);
    fleet.add("two-node", "Model A", 40, &one_of_each(40));
    fleet
}

/// Writes the page of a comparison of forty machines; returns its path.
pub(crate) fn page(laboratory: &Laboratory) -> String {
    let (store, page) = (
        laboratory.file("fleet.sqlite", ""),
        laboratory.file("fleet.html", ""),
    );
    std::fs::remove_file(&store).unwrap();
    forty(Path::new(&store));
    let words = ["fleet", "compare", "--store", &store, "--html", &page];
    laboratory.run(&words).with_code(0);
    page
}

#[test]
fn forty_machines_with_a_fault_of_each_kind_fit_on_a_screen() {
    let folder = folder();
    let path = folder.path().join("fleet.sqlite");
    let fleet = forty(&path);
    check(&path, &fleet.faults);
    let laboratory = Laboratory::new();
    let store = path.to_str().unwrap();
    let text = laboratory
        .run(&["fleet", "compare", "--store", store])
        .with_code(0)
        .stdout;
    assert!(text.lines().count() <= report::SCREEN_LINES, "{text}");
    for host in fleet.faults.keys() {
        assert!(text.contains(host), "{host}: {text}");
    }
    let by_rack = ["fleet", "compare", "--group-by", "rack", "--store", store];
    let racks = laboratory.run(&by_rack).with_code(0).stdout;
    assert!(racks.contains("two-node-00: Model A"), "{racks}");
    let failing = ["fleet", "compare", "--fail-on-difference", "--store", store];
    laboratory.run(&failing).with_code(7);
}

#[test]
fn of_two_machines_that_differ_none_is_called_odd() {
    let folder = folder();
    let path = folder.path().join("fleet.sqlite");
    let mut fleet = Fleet::new(&path);
    let faults = BTreeMap::from([(0, Fault::Setting)]);
    fleet.add("two-node", "Model A", 2, &faults);
    let laboratory = Laboratory::new();
    let store = path.to_str().unwrap();
    let document = laboratory.document(&["fleet", "compare", "--store", store, "--json"]);
    assert!(found(&document).is_empty(), "{document}");
    let split = &document["groups"][0]["splits"][0];
    assert_eq!(split["fact"], "vm.zone_reclaim_mode", "{document}");
    let text = laboratory
        .run(&["fleet", "compare", "--store", store])
        .with_code(0)
        .stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("which is the odd one cannot be told"),
        "{text}"
    );
}

/// A captured machine of this name, on which some files are others.
fn captured(host: &str, changes: &[(&str, &str)]) -> testing::tree::Unpacked {
    let mut tree = Tree::captured("two-node").unwrap();
    tree.set("proc/sys/kernel/hostname", format!("{host}\n"));
    for (path, content) in changes {
        tree.set(path, *content);
    }
    tree.expand().unwrap()
}

#[test]
fn what_the_doctor_keeps_is_pushed_shown_and_compared() {
    let Some(bin) = installed("what_the_doctor_keeps_is_pushed_shown_and_compared") else {
        return;
    };
    let server = Server::start(&bin);
    let url = url(&server);
    let reclaim = ("proc/sys/vm/zone_reclaim_mode", "1\n");
    let of_firmware = ("sys/class/dmi/id/bios_version", "2.1\n");
    for (host, changes) in [
        ("db1", vec![of_firmware]),
        ("db2", vec![of_firmware]),
        (
            "db3",
            vec![reclaim, ("sys/class/dmi/id/bios_version", "2.0\n")],
        ),
    ] {
        let machine = captured(host, &changes);
        let laboratory = Laboratory::new();
        let root = machine.path().to_str().unwrap();
        let kept = laboratory
            .run(&["doctor", "--root", root, "--keep"])
            .with_code(0);
        kept.says(&["stored as "]);
        let shown = laboratory.document(&["show", "last", "--json"]);
        assert_eq!(shown["format"], "numalab.kept-diagnosis/1", "{shown}");
        assert_eq!(shown["machine"]["host"], host, "{shown}");
        // Twice: each run is there once.
        for new in ["1 sent", "0 sent"] {
            let pushed = laboratory
                .run(&["push", "--all", "--to", &url])
                .with_code(0);
            pushed.says(&[new]);
        }
    }
    let laboratory = Laboratory::new();
    let compare = ["fleet", "compare", "--json", "--store"];
    let of_server = laboratory.document(&[&compare[..], &[&url]].concat());
    // The doctor knows what the setting means.
    let expected = ["doctor", "firmware", "setting"];
    let expected = expected.map(|kind| ("db3".to_owned(), kind.to_owned()));
    assert_eq!(found(&of_server), BTreeSet::from(expected), "{of_server}");
    laboratory
        .run(&["pull", "--all", "--from", &url])
        .with_code(0);
    let store = laboratory.store();
    let of_file = laboratory.document(&[&compare[..], &[store.to_str().unwrap()]].concat());
    assert_eq!(of_file, of_server);
    let page = laboratory.folder().join("fleet.html");
    let html = ["fleet", "compare", "--html", page.to_str().unwrap()];
    laboratory.run(&html).with_code(0).says(&["wrote "]);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains("db3: vm.zone_reclaim_mode: 1; 2 of 3 have 0"),
        "{page}"
    );
}
