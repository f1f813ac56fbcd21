//! What placements are worth by tables of emulated costs that numalab does not know: intervals of
//! `try` and of `predict --dose` hold it, the bounds of `predict` are never exceeded, and the cure
//! of the doctor's plan is the best one.
//!
//! Tests of switchback, judgement, relocation, stats.

use std::fs;

use fastrand::Rng;
use rustix::process::Signal;
use serde_json::Value;
use testing::not_run::say;

use super::kernel_setting::pages_stay_where_they_are;
use super::random_kills::seeds;
use crate::experiment_file::ExperimentFile;
use crate::laboratory::{Laboratory, UnderWay};
use crate::patience::until;
use crate::unmet_need::guest_shape;

/// What the cost of a local read is made of: so much that its own time hardly matters, ns.
const LOCAL_NS: f64 = 20_000.0;
/// What costs may differ from bounds by, as a part of the cost before.
const TOLERANCE: f64 = 0.02;
/// What the costs that were measured may differ from the table by, as a part of its range.
const TABLE_TOLERANCE: f64 = 0.1;
/// Tables in a test; `NUMALAB_KILLS_COUNT` asks for others.
const TABLES: u64 = 1;

/// Nodes in a row, whose distances are the firmware's.
struct Machine {
    distances: Vec<Vec<f64>>,
}

impl Machine {
    fn read() -> Self {
        let row = |node: usize| {
            let path = format!("/sys/devices/system/node/node{node}/distance");
            let text = fs::read_to_string(path).ok()?;
            let row = text.split_whitespace().map(|it| it.parse().unwrap());
            Some(row.collect())
        };
        Machine {
            distances: (0..).map_while(row).collect(),
        }
    }

    fn nodes(&self) -> usize {
        self.distances.len()
    }
}

/// The first CPU of a node, as the kernel says.
fn first_cpu(node: usize) -> String {
    let path = format!("/sys/devices/system/node/node{node}/cpulist");
    let cpus = fs::read_to_string(path).unwrap();
    let digits = cpus.find(|it: char| !it.is_ascii_digit()).unwrap();
    cpus[..digits].to_owned()
}

/// A session on a node, a table of costs, and where the blocks begin.
struct Question {
    node: usize,
    begin: usize,
    /// Cost of a read from the session's node, by node of the block, ns.
    costs: Vec<f64>,
    table: String,
}

impl Question {
    /// Costs grow with the firmware's distances, by a random part.
    fn random(machine: &Machine, random: &mut Rng) -> Self {
        let (nodes, part) = (machine.nodes(), 0.5 + 0.5 * random.f64());
        let cost = |distance: f64| LOCAL_NS * (1.0 - part + part * distance / 10.0);
        let rows: Vec<Vec<f64>> = machine
            .distances
            .iter()
            .map(|row| row.iter().map(|it| cost(*it).round()).collect())
            .collect();
        let text = |row: &Vec<f64>| {
            let cells: Vec<String> = row.iter().map(f64::to_string).collect();
            cells.join(" ")
        };
        let table: Vec<String> = rows.iter().map(text).collect();
        // The only one with CPUs.
        let node = 0;
        let away = random.usize(1..nodes);
        Question {
            node,
            begin: (node + away) % nodes,
            costs: rows[node].clone(),
            table: table.join("; "),
        }
    }

    /// Mean cost of a read with blocks in these proportions, by the table, ns.
    fn table_ns(&self, weights: &[f64]) -> f64 {
        let all: f64 = weights.iter().sum();
        let parts = weights.iter().zip(&self.costs);
        parts.map(|(weight, cost)| weight * cost).sum::<f64>() / all
    }

    /// Placements with the proportions in which blocks lie on the nodes: a node that they are
    /// not on, all nodes evenly, and two nodes in proportions.
    fn placements(&self, random: &mut Rng) -> Vec<(String, Vec<f64>)> {
        let nodes = self.costs.len();
        let on = |node: usize| {
            (0..nodes)
                .map(move |it| f64::from(u8::from(it == node)))
                .collect()
        };
        let mut all: Vec<(String, Vec<f64>)> = (0..nodes)
            .filter(|node| *node != self.begin)
            .map(|node| (node.to_string(), on(node)))
            .collect();
        random.shuffle(&mut all);
        all.truncate(1);
        all.push(("interleave".to_owned(), vec![1.0; nodes]));
        if nodes > 2 {
            let other = (self.begin + random.usize(1..nodes)) % nodes;
            let (here, there) = (random.u32(1..3), random.u32(1..4));
            let here = if here == there { 4 } else { here };
            let mut weights = vec![0.0; nodes];
            weights[self.begin] = f64::from(here);
            weights[other] = f64::from(there);
            let mut parts = [(self.begin, here), (other, there)];
            parts.sort_unstable();
            let parts = parts.map(|(node, weight)| format!("{node}:{weight}"));
            all.push((format!("spread={}", parts.join(",")), weights));
        }
        all.dedup_by(|one, other| one.1 == other.1);
        all
    }

    fn held<'l>(&self, laboratory: &'l Laboratory) -> (UnderWay<'l>, String) {
        let case = format!(
            "allocation = \"prefer:{}\"\nemulated-cost = \"{}\"",
            self.begin, self.table
        );
        let experiment = defined("held", self.node).case("held", &case);
        let path = laboratory.file("held.toml", experiment.text());
        let mut held = laboratory.start(&["run", &path, "--hold", "held", "--json"]);
        let document: Value = until("the document", || {
            assert!(!held.has_ended(), "it was not held: {}", held.stderr());
            serde_json::from_str(&held.stdout()).ok()
        });
        let pid = document["instance_pid"].to_string();
        let mut pids = vec![pid.clone()];
        let others = document["session_pids"].as_array().unwrap();
        pids.extend(others.iter().map(Value::to_string));
        slow_down(&pids);
        (held, pid)
    }
}

fn defined(baseline: &str, node: usize) -> ExperimentFile {
    let defaults = format!(
        "[placement]\ncpus = \"{}\"\nmechanism = \"affinity\"\n[sga]\ncache = \"16MiB\"\n\
         [load]\nsessions = 1\nwork-unit = 4",
        first_cpu(node)
    );
    ExperimentFile::new(baseline, &defaults).about_memory()
}

/// CPU time of a read of the target, in s, as a record has it.
fn cost(laboratory: &Laboratory, pid: &str) -> f64 {
    let record = laboratory.document(&["record", pid, "--for", "20s", "--json"]);
    let windows = record["windows"].as_array().unwrap();
    let sum = |what: &str| -> f64 {
        let all = windows.iter().filter(|it| it["void"].is_null());
        all.map(|it| it[what].as_f64().unwrap()).sum()
    };
    sum("cpu_s") / sum("work")
}

/// The same under a placement, in proportion to `before`.
fn cost_under(laboratory: &Laboratory, pid: &str, placement: &str, before: f64) -> f64 {
    laboratory
        .run(&["move", pid, "--to", placement])
        .with_code(0);
    let under = cost(laboratory, pid);
    laboratory.run(&["undo"]).with_code(0);
    under / before
}

/// Lets processes use a fifth of a CPU, so that others have the rest of the only one.
fn slow_down(pids: &[String]) {
    let group = "/sys/fs/cgroup/slow";
    fs::write("/sys/fs/cgroup/cgroup.subtree_control", "+cpu").unwrap();
    fs::create_dir_all(group).unwrap();
    fs::write(format!("{group}/cpu.max"), "20000 100000").unwrap();
    for pid in pids {
        fs::write(format!("{group}/cgroup.procs"), pid).unwrap();
    }
}

/// What was found, over all tables.
#[derive(Debug, Default)]
struct Tally {
    intervals: u32,
    hold: u32,
    bounds: u32,
    kept: u32,
    as_the_table: u32,
    plans: u32,
    best: u32,
}

impl Tally {
    fn interval(&mut self, of: &str, placement: &str, truth: f64, found: Option<(f64, f64)>) {
        let Some((low, high)) = found else {
            say(&format!(
                "{of} {placement}: no interval; {truth:.3} by the table"
            ));
            return;
        };
        let holds = low <= truth && truth <= high;
        self.intervals += 1;
        self.hold += u32::from(holds);
        let misses = if holds { "" } else { ", missed" };
        say(&format!(
            "{of} {placement}: {low:.3} to {high:.3}, {truth:.3} by the table{misses}"
        ));
    }

    /// What a read costs under each placement, in proportion to now: measured, and compared with
    /// the table.
    fn truths(
        &mut self,
        laboratory: &Laboratory,
        question: &Question,
        placements: &[(String, Vec<f64>)],
        pid: &str,
    ) -> Vec<f64> {
        let before = cost(laboratory, pid);
        let of = |placement: &str| cost_under(laboratory, pid, placement, before);
        let truths: Vec<f64> = placements.iter().map(|(name, _)| of(name)).collect();
        self.table(question, placements, &truths, of("0"));
        truths
    }

    /// One target by one table.
    fn asks(&mut self, laboratory: &Laboratory, question: &Question, random: &mut Rng) {
        let placements = question.placements(random);
        let to: Vec<&str> = placements
            .iter()
            .flat_map(|(name, _)| ["--to", name])
            .collect();
        let (held, pid) = question.held(laboratory);
        say(&format!(
            "on node {}, blocks on {}, {}",
            question.node, question.begin, question.table
        ));
        // All memory begins there: the models take all for alike, but only reads of blocks cost.
        let all_there = Laboratory::new();
        let begin = question.begin.to_string();
        all_there.run(&["move", &pid, "--to", &begin]).with_code(0);
        let truths = self.truths(laboratory, question, &placements, &pid);
        let predicted = laboratory.document(&[&["predict", &pid, "--json"], &to[..]].concat());
        let candidates = laboratory.document(&["predict", &pid, "--json"]);
        let diagnosis = laboratory.document(&["doctor", &pid, "--json"]);
        let short = ["--window", "2", "--by", "cost", "--json", "--for", "300"];
        let tried = laboratory.document(&[&["try", &pid][..], &short, &to].concat());
        let short = ["--dose", "--window", "3", "--json", "--for", "220"];
        let dosed = laboratory.document(&[&["predict", &pid][..], &short, &to].concat());
        for (command, found) in [("try", &tried), ("dose", &dosed)] {
            let pairs = found["windows"].as_array().map_or(0, Vec::len) / (placements.len() + 1);
            let (end, why) = (&found["end"], &found["end_because"]);
            say(&format!("{command}: some {pairs} pairs, {end} ({why})"));
            assert_ne!(found["end"], Value::Null, "{command}: {found:#}");
        }
        for (at, (name, _)) in placements.iter().enumerate() {
            let truth = truths[at];
            let ends = |found: &Value, low: &str, high: &str| {
                found[low].as_f64().zip(found[high].as_f64())
            };
            let by_try = ends(&tried["placements"][at], "ratio_low", "ratio_high");
            self.interval("try", name, 1.0 / truth, by_try);
            let by_dose = ends(&dosed["placements"][at], "low", "high");
            let by_dose = by_dose.filter(|_| dosed["refused"].is_null());
            self.interval("dose", name, truth - 1.0, by_dose);
            let bound = predicted["placements"][at]["cpu_time_change_at_most"].as_f64();
            let bound = bound.unwrap_or_else(|| panic!("{predicted:#}"));
            let is_kept =
                (bound.min(0.0) - TOLERANCE..=bound.max(0.0) + TOLERANCE).contains(&(truth - 1.0));
            self.bounds += 1;
            self.kept += u32::from(is_kept);
            if !is_kept {
                say(&format!(
                    "{name}: at most {bound:.3}, {:.3} by the table",
                    truth - 1.0
                ));
            }
        }
        self.plan(question, &diagnosis, &candidates);
        held.signal(Signal::INT);
        held.finish().with_code(0);
        all_there.run(&["undo"]).with_code(0);
        laboratory.nothing_is_left();
    }

    /// Whether costs fall from where blocks began to the near node as the table says: what a read
    /// costs beside is the same everywhere.
    fn table(
        &mut self,
        question: &Question,
        placements: &[(String, Vec<f64>)],
        truths: &[f64],
        near: f64,
    ) {
        let part = |there: f64, here: f64, least: f64| (here - there) / (here - least);
        let (here_ns, least_ns) = (
            question.costs[question.begin],
            question.costs[question.node],
        );
        let most_ns = question.costs.iter().copied().fold(here_ns, f64::max);
        let way_of_range = (here_ns - least_ns) / (most_ns - least_ns);
        for ((name, weights), truth) in placements.iter().zip(truths) {
            let by_table = part(question.table_ns(weights), here_ns, least_ns);
            let found = part(*truth, 1.0, near);
            let apart = (found - by_table).abs() * way_of_range;
            self.as_the_table += u32::from(apart <= TABLE_TOLERANCE);
            say(&format!(
                "{name}: {found:.3} of the way, {by_table:.3} by the table"
            ));
        }
    }

    /// Whether no candidate is truly better than the cure of the plan.
    fn plan(&mut self, question: &Question, diagnosis: &Value, candidates: &Value) {
        let nodes = question.costs.len();
        let truth = |placement: &str| {
            let near = (0..nodes).map(|it| f64::from(u8::from(it == question.node)));
            match placement {
                "near-cpus" => Some(question.table_ns(&near.collect::<Vec<_>>())),
                _ if placement.starts_with("interleave") => {
                    Some(question.table_ns(&vec![1.0; nodes]))
                }
                _ => None,
            }
        };
        let cure = diagnosis["plan"]["cure"].as_str().unwrap_or("none");
        let all = candidates["placements"].as_array().unwrap().iter();
        let others = all.filter_map(|it| truth(it["placement"].as_str()?));
        let least = others.fold(f64::INFINITY, f64::min);
        let is_best = truth(cure).is_some_and(|it| it <= least * (1.0 + TOLERANCE));
        self.plans += 1;
        self.best += u32::from(is_best);
        say(&format!(
            "the plan: {cure}, the least cost {least:.0} ns: {is_best}"
        ));
    }
}

#[test]
fn every_placement_is_worth_what_the_table_says() {
    let test = "every_placement_is_worth_what_the_table_says";
    let Some(shape) = guest_shape(test) else {
        return;
    };
    let machine = Machine::read();
    say(&format!("{shape}: {} nodes", machine.nodes()));
    let _settings = pages_stay_where_they_are();
    let laboratory = Laboratory::new();
    let mut tally = Tally::default();
    for seed in seeds(TABLES) {
        let mut random = Rng::with_seed(seed);
        let question = Question::random(&machine, &mut random);
        tally.asks(&laboratory, &question, &mut random);
    }
    say(&format!("{tally:?}"));
    // Nineteen of twenty are expected, of a few.
    let missed = tally.intervals - tally.hold;
    assert!(missed <= 1 + tally.intervals / 10, "{tally:?}");
    assert_eq!(tally.kept, tally.bounds, "{tally:?}");
    assert!(tally.best * 10 >= tally.plans * 9, "{tally:?}");
    assert_eq!(tally.as_the_table, tally.bounds, "{tally:?}");
    assert!(tally.intervals > 0, "{tally:?}");
}
