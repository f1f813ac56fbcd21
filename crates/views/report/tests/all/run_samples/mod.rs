//! Handmade runs, one for each possible outcome of a run.
#![allow(dead_code, reason = "each test binary uses some of them")]

use std::collections::BTreeMap;

use model::*;

mod build;

use build::{bound, caged, case, chase, empty, kernel_case, machine_of, wait};

/// Parses a list of ids.
fn ids<I: Id>(list: &str) -> IdSet<I> {
    list.parse().expect("a list of ids")
}

/// Returns every sample with its name, which is the name of its golden files.
pub(crate) fn all() -> Vec<(&'static str, Run)> {
    vec![
        ("normal", normal()),
        ("five-cases", five_cases()),
        ("baseline-leads", baseline_leads()),
        ("baseline-undecided", baseline_undecided()),
        ("alone", alone()),
        ("tied", tied()),
        ("tied-leaders", tied_leaders()),
        ("emulated", emulated()),
        ("virtual-machine", virtual_machine()),
        ("busy", busy()),
        ("invalid-trials", invalid_trials()),
        ("no-valid-trial", no_valid_trial()),
        ("too-few-trials", too_few_trials()),
        ("stopped-early", stopped_early()),
        ("skipped", skipped()),
        ("baseline-skipped", baseline_skipped()),
        ("interrupted", interrupted()),
        ("nothing-yet", nothing_yet()),
        ("hostile", hostile()),
        ("latency", latency()),
        ("latency-alone", latency_alone()),
        ("bandwidth", bandwidth()),
        ("load-sweep", load_sweep()),
        ("control", control()),
        ("control-differs", control_differs()),
        ("chain-of-ties", chain_of_ties()),
    ]
}

/// Returns five values around a figure; the order of rounds depends on the figure.
fn around(figure: f64) -> [f64; 5] {
    let mut shares = [0.99, 1.0, 1.01, 0.995, 1.005];
    shares.rotate_left((1009.0 * figure.ln().fract()) as usize % 5);
    shares.map(|share| share * figure)
}

/// Binding against caging, with a clear difference.
pub(crate) fn normal() -> Run {
    let mut run = empty("binding-vs-caging", "binding");
    run.question = "Does it cost more to bind an instance to CPUs or to cage it?".to_string();
    run.cases = vec![
        case(
            "binding",
            "3 sessions bound to 1 CPU",
            &[
                1_263_991.0,
                1_270_020.0,
                1_259_870.0,
                1_266_105.0,
                1_261_377.0,
            ],
            bound,
        ),
        case(
            "caging",
            "3 sessions on 3 CPUs, caged to 1",
            &[
                1_158_202.0,
                1_149_930.0,
                1_166_713.0,
                1_161_044.0,
                1_155_481.0,
            ],
            caged,
        ),
    ];
    run
}

/// The time was up before any case had enough trials for an interval.
pub(crate) fn stopped_early() -> Run {
    let mut run = five_cases();
    run.status = RunStatus::Bounded;
    for (index, case) in run.cases.iter_mut().enumerate() {
        case.trials.truncate(3 - index / 4);
    }
    run
}

/// The five tests of article 001, with its figures.
pub(crate) fn five_cases() -> Run {
    let mut run = empty("binding-vs-caging", "binding-6");
    run.question = "Does it cost more to bind an instance to CPUs or to cage it?".to_string();
    run.cases = vec![
        case("free", "nothing bound", &around(6_323_758.9), bound),
        case("caging-6", "caged to 6", &around(3_495_618.2), caged),
        case("binding-6", "bound to 6 CPUs", &around(5_786_023.5), bound),
        case(
            "both",
            "bound to 9, caged to 6",
            &around(5_182_622.4),
            caged,
        ),
        case("binding-9", "bound to 9 CPUs", &around(8_623_444.6), bound),
    ];
    run
}

/// The baseline is the fastest of several.
pub(crate) fn baseline_leads() -> Run {
    let mut run = five_cases();
    run.baseline = "binding-9".to_string();
    run
}

/// One of several cases wins, but the baseline has too few trials.
pub(crate) fn baseline_undecided() -> Run {
    let mut run = five_cases();
    run.cases[2].trials.truncate(4);
    run
}

/// One case and nothing to compare it with.
pub(crate) fn alone() -> Run {
    let mut run = normal();
    run.cases.truncate(1);
    run
}

/// Two cases that tie.
pub(crate) fn tied() -> Run {
    let mut run = normal();
    run.cases[1] = case(
        "caging",
        "3 sessions on 3 CPUs, caged to 1",
        &[
            1_262_000.0,
            1_271_500.0,
            1_258_000.0,
            1_268_000.0,
            1_255_000.0,
        ],
        caged,
    );
    run
}

/// Three cases; two share the first rank.
pub(crate) fn tied_leaders() -> Run {
    let mut run = tied();
    let slow = [902_000.0, 899_000.0, 905_000.0, 897_500.0, 900_100.0];
    run.cases
        .push(case("quota", "cpu.max of 1 CPU", &slow, bound));
    run
}

/// A machine emulated in software.
pub(crate) fn emulated() -> Run {
    let mut run = normal();
    machine_of(&mut run).hypervisor = Some("TCGTCGTCGTCG".to_string());
    machine_of(&mut run).emulated = Some(true);
    run
}

/// An experiment about memory in a virtual machine.
pub(crate) fn virtual_machine() -> Run {
    let mut run = normal();
    run.asks_about_memory = true;
    machine_of(&mut run).hypervisor = Some("KVMKVMKVM".to_string());
    let second = Node {
        id: NodeId(1),
        ..machine_of(&mut run).topology.nodes[0].clone()
    };
    machine_of(&mut run).topology.nodes.push(second);
    run
}

/// A machine that was busy with other work in more than a quarter of the windows.
pub(crate) fn busy() -> Run {
    let mut run = normal();
    for trial in run.cases[0].trials.iter_mut().take(3) {
        trial.evidence.other_cpu_s = Some(3.4);
        trial.evidence.steal_s = Some(0.1);
    }
    run
}

/// Some trials do not count; the others suffice.
pub(crate) fn invalid_trials() -> Run {
    let mut run = normal();
    let caging = &mut run.cases[1];
    let mut wandered = caging.trials[0].clone();
    wandered.round = 5;
    wandered.outcome =
        Outcome::Invalid("session 2 ran on CPU 3, and only CPUs 0-2 were allowed".to_string());
    let mut died = caging.trials[0].clone();
    died.round = 6;
    died.outcome = Outcome::Failed("session 1 was killed by signal 9".to_string());
    died.measured = None;
    died.evidence = Evidence::default();
    caging.trials.extend([wandered, died]);
    caging.trials[1].warnings = vec!["the window was cut by a suspend".to_string()];
    run
}

/// No trial of one case counts.
pub(crate) fn no_valid_trial() -> Run {
    let mut run = normal();
    for trial in &mut run.cases[1].trials {
        trial.outcome = Outcome::Invalid("4 KiB of the SGA lie on node 1".to_string());
    }
    run
}

/// Three trials of each case.
pub(crate) fn too_few_trials() -> Run {
    let mut run = normal();
    run.cases
        .iter_mut()
        .for_each(|case| case.trials.truncate(3));
    run.calibration
        .as_mut()
        .expect("calibrated")
        .plateau_reached = false;
    run
}

/// One case could not run.
pub(crate) fn skipped() -> Run {
    let mut run = normal();
    run.skipped = vec![Skipped {
        case: "remote".to_string(),
        reason: "it needs a second node with memory, and this machine has 1".to_string(),
    }];
    run
}

/// The baseline itself could not run.
pub(crate) fn baseline_skipped() -> Run {
    let mut run = skipped();
    run.baseline = "remote".to_string();
    run
}

/// Interrupted in the middle of the second round.
pub(crate) fn interrupted() -> Run {
    let mut run = normal();
    run.status = RunStatus::Interrupted;
    run.cases[0].trials.truncate(2);
    run.cases[1].trials.truncate(1);
    run
}

/// Killed before anything was measured.
pub(crate) fn nothing_yet() -> Run {
    let mut run = normal();
    run.status = RunStatus::Unfinished;
    run.calibration = None;
    run.cases.iter_mut().for_each(|case| case.trials.clear());
    run
}

/// Malicious names and reasons.
pub(crate) fn hostile() -> Run {
    let mut run = invalid_trials();
    let harm = "\u{1b}[2J\u{1b}]0;title\u{7}\r\nroot# \u{202e}evil\u{200b}";
    run.question = format!("{harm}?");
    run.experiment = harm.to_string();
    machine_of(&mut run).host = harm.to_string();
    machine_of(&mut run).cpu_model = Some("字幕 ".repeat(50));
    machine_of(&mut run).hypervisor = Some("\0\u{9b}31m".to_string());
    run.asks_about_memory = true;
    run.cases[0].plan.name = "字幕".repeat(60);
    run.baseline = run.cases[0].plan.name.clone();
    run.cases[1].plan.name = harm.to_string();
    run.cases[1].plan.about = "x".repeat(300);
    run.cases[1].trials[5].outcome = Outcome::Invalid(harm.to_string());
    run.cases[1].trials[1].warnings = vec![harm.to_string()];
    let measured = run.cases[1].trials[0].measured.as_mut().expect("measured");
    let sessions = measured.sessions.as_mut().expect("sessions");
    sessions.time.waits.insert(harm.to_string(), wait(1, 0.2));
    let sga = run.cases[1].trials[0].evidence.sga.as_mut().expect("read");
    sga.policy = harm.to_string();
    run.skipped = vec![Skipped {
        case: harm.to_string(),
        reason: harm.repeat(3),
    }];
    run
}

/// Latency of three cells: less is better.
pub(crate) fn latency() -> Run {
    let mut run = empty("latency", "cpu-node-0-memory-node-0");
    run.question = "How far is memory?".to_string();
    run.metric = Metric::NsPerAccess;
    run.window_s = Some(0.0102);
    run.calibration = None;
    run.asks_about_memory = true;
    run.cases = [(0, 82.4), (1, 139.0), (2, 140.2)]
        .map(|(node, ns)| {
            let name = format!("cpu-node-0-memory-node-{node}");
            kernel_case(&name, chase(), node, &around(ns))
        })
        .into();
    run
}

/// One cell, and nothing to compare it with.
pub(crate) fn latency_alone() -> Run {
    let mut run = latency();
    run.cases.truncate(1);
    run
}

/// Bandwidth of two pairs of nodes.
pub(crate) fn bandwidth() -> Run {
    let mut run = latency();
    run.experiment = "bandwidth".to_string();
    run.question = "How much does memory deliver?".to_string();
    run.metric = Metric::BytesPerSecond;
    run.baseline = "near".to_string();
    let thread = |cpu| StreamThreadPlan {
        cpu: CpuId(cpu),
        allocation: Allocation::Bind(ids("1")),
    };
    let work = Work::Stream(StreamWork {
        kernel: StreamKernel::Triad,
        simd: "avx2".to_string(),
        threads: vec![thread(1), thread(2)],
        bytes_per_thread: 96 << 20,
        page_kind: None,
        windows: 5,
        window_ns: 20_000_000,
    });
    run.cases = vec![
        kernel_case("near", work.clone(), 0, &around(41.2e9)),
        kernel_case("far", work, 1, &around(17.9e9)),
    ];
    run
}

/// The latency of one node beside a load that pauses less and less.
pub(crate) fn load_sweep() -> Run {
    let mut run = latency();
    run.experiment = "loaded-latency".to_string();
    run.question = "What is the memory latency under load?".to_string();
    run.baseline = "node-0-no-load".to_string();
    let (Work::MemoryLatency(chase), Work::Stream(load)) =
        (chase(), bandwidth().cases[0].plan.work.clone())
    else {
        unreachable!("these are their works");
    };
    let point = |(name, delay, ns, moved): (&str, u32, f64, f64)| {
        let mut load = load.clone();
        if moved == 0.0 {
            load.threads.clear();
        }
        let work = Work::LoadedLatency(LoadedLatency {
            chase: chase.clone(),
            load,
            delay,
        });
        let mut case = kernel_case(name, work, 0, &around(ns));
        for trial in &mut case.trials {
            let kernel = trial.measured.as_mut().and_then(|it| it.kernel.as_mut());
            kernel.expect("it has a kernel").load_bytes_per_s = Some(moved);
        }
        case
    };
    run.cases = [
        ("node-0-no-load", 0, 82.4, 0.0),
        ("node-0-pause-100", 100, 97.0, 12.1e9),
        ("node-0-pause-0", 0, 251.0, 40.3e9),
    ]
    .map(point)
    .into();
    run
}

/// A control that repeats the baseline and ties with it.
pub(crate) fn control() -> Run {
    let mut run = normal();
    let mut again = case("binding-again", "the same", &around(1_264_000.0), bound);
    again.plan.work = run.cases[0].plan.work.clone();
    run.cases.push(again);
    run
}

/// The same on a machine where something else changed during the run.
pub(crate) fn control_differs() -> Run {
    let mut run = control();
    for trial in &mut run.cases[2].trials {
        if let Some(measured) = &mut trial.measured {
            measured.value *= 0.8;
        }
    }
    run
}

/// Each case ties only with its neighbours, and a control with the baseline.
pub(crate) fn chain_of_ties() -> Run {
    let mut run = empty("binding-vs-caging", "second");
    let rates = [
        ("first", [1.0, 1.009, 0.99, 1.01, 0.991]),
        ("second", [0.98, 0.993, 0.994, 0.976, 0.985]),
        ("third", [0.978, 0.961, 0.97, 0.979, 0.962]),
        ("fourth", [0.946, 0.963, 0.955, 0.947, 0.964]),
        ("second-again", [0.993, 0.977, 0.984, 0.976, 0.992]),
    ];
    let rates = rates.map(|(name, rates)| (name, rates.map(|it| it * 1e6)));
    let cases = rates.iter();
    run.cases = cases
        .map(|(name, rates)| case(name, "a link", rates, bound))
        .collect();
    run.cases[4].plan.work = run.cases[1].plan.work.clone();
    run
}

/// Near and far memory of a machine with two nodes: far does half as many reads, on the same CPUs.
pub(crate) fn near_and_far() -> Run {
    let mut run = empty("local-vs-remote", "near");
    run.asks_about_memory = true;
    machine_of(&mut run).topology.nodes.push(Node {
        id: NodeId(1),
        memory_bytes: Some(16 << 30),
        ..Node::default()
    });
    let near = |_: &mut CasePlan, _: &mut Evidence, time: &mut TimeModel| time.db_cpu_s = 15.0;
    let far = |_: &mut CasePlan, evidence: &mut Evidence, time: &mut TimeModel| {
        let sga = evidence.sga.as_mut().expect("a sample has an SGA");
        sga.bytes_by_node_before = BTreeMap::from([(NodeId(1), 256 << 20)]);
        sga.bytes_by_node_after = sga.bytes_by_node_before.clone();
        time.db_cpu_s = 15.0;
    };
    run.cases = vec![
        case("near", "on node 0", &around(3_000_000.0), near),
        case("far", "on node 1", &around(1_500_000.0), far),
    ];
    run
}
