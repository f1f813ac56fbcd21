//! How long a plan that measures memory takes, from what the steps of its trials cost, and how its
//! matrix fits into the time that there is for it.

use std::ops::RangeInclusive;

use kernels::FoundWorkingSet;
use model::{CasePlan, MemoryLatency, NodeId, NodesOfCpus, PageKind, StreamWork, Topology, Work};

use super::latency_plan::latency_plan;
use super::names;
use super::places::MemoryPlaces;
use crate::plan::{Cannot, Host, Plan};

/// The firmware's distance of a node to itself.
const DISTANCE_LOCAL: f64 = 10.0;

/// Time to prepare small pages, as a multiple of that of huge ones: 2.2 at 128 MiB and 2.5 at 1.2
/// GiB (a KVM guest on a Zen 3).
const PREPARE_SMALL: f64 = 2.5;

/// Time of the windows of a cell as a multiple of their planned length: with the accesses of turns,
/// and threads that are started.
const WINDOWS_FACTOR: f64 = 1.6;

/// Time to prepare, fill, stream through and check memory of a thread, per GiB (as above, two
/// threads side by side).
const STREAM_S_PER_GIB: f64 = 1.0;

/// Time of a curve per GiB of its largest working set (as above).
const CURVE_S_PER_GIB: f64 = 5.0;

/// One round trip of a cache line, for pairs of CPUs far apart.
const ROUND_TRIP_S: f64 = 400e-9;

/// Time of a lap under load, as a multiple of that of one without.
const LAP_UNDER_LOAD: f64 = 4.0;

/// What the steps of a trial of local memory in large pages cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepCosts {
    /// The working set that the costs are of, in bytes.
    pub bytes: u64,
    /// To allocate, populate, lay and flush it, and to read where it is, in seconds.
    pub prepare_s: f64,
    /// To go round it once, in seconds.
    pub lap_s: f64,
    /// Whether they were measured on this machine; otherwise they are those of a KVM guest on a
    /// Zen 3.
    pub is_measured: bool,
}

impl StepCosts {
    /// Returns costs measured elsewhere, for a machine that is not at hand.
    pub fn stated() -> Self {
        StepCosts {
            bytes: 1 << 30,
            prepare_s: 0.4,
            lap_s: 0.17,
            is_measured: false,
        }
    }

    /// Returns what the search for the working set found along with it.
    pub fn of(found: &FoundWorkingSet) -> Self {
        StepCosts {
            bytes: found.tried_bytes,
            prepare_s: found.prepare_s,
            lap_s: found.lap_s,
            is_measured: true,
        }
    }

    /// Returns the estimated seconds of one trial of a case.
    fn trial_s(&self, case: &CasePlan, machine: &Distances<'_>) -> f64 {
        match &case.work {
            Work::MemoryLatency(work) => self.chase_s(case, work, machine, 1.0),
            Work::Stream(work) => stream_s(work),
            Work::LoadedLatency(work) => {
                self.chase_s(case, &work.chase, machine, LAP_UNDER_LOAD) + stream_s(&work.load)
            }
            Work::DepthCurve(work) => gib(work.bytes_max) * CURVE_S_PER_GIB,
            Work::LineTransfers(work) => {
                let cpus = case.placement.cpus.as_ref().map_or(0, |cpus| cpus.len());
                let pairs = (cpus * cpus.saturating_sub(1) / 2) as f64;
                let trips = f64::from(work.windows) * f64::from(work.round_trips);
                pairs * trips * ROUND_TRIP_S
            }
            _ => 0.0,
        }
    }

    fn chase_s(
        &self,
        case: &CasePlan,
        work: &MemoryLatency,
        machine: &Distances<'_>,
        lap_factor: f64,
    ) -> f64 {
        let share = work.working_set_bytes as f64 / self.bytes.max(1) as f64;
        let pages = match work.page_kind {
            Some(PageKind::Small) => PREPARE_SMALL,
            _ => 1.0,
        };
        let nodes = names::nodes_of(case, &machine.nodes_of_cpus);
        let home = machine.nodes_of_cpus.node(work.home_cpu);
        let from_home = home.zip(nodes.map(|(_, to)| to));
        let lap_s = match work.first_visits {
            true => 0.0,
            false => self.lap_s * share * machine.times_local(nodes) * lap_factor,
        };
        let windows_s = f64::from(work.windows) * work.window_ns as f64 / 1e9 * WINDOWS_FACTOR;
        self.prepare_s * share * pages * machine.times_local(from_home) + lap_s + windows_s
    }

    /// Returns the estimated seconds of one round of a plan: each of its cases once.
    pub fn round_s(&self, plan: &Plan, topology: &Topology) -> f64 {
        let machine = Distances::of(topology);
        let cases = plan.cases.iter();
        cases.map(|case| self.trial_s(case, &machine)).sum()
    }
}

/// How far the memory of a machine is from its CPUs.
struct Distances<'t> {
    topology: &'t Topology,
    nodes_of_cpus: NodesOfCpus,
}

impl<'t> Distances<'t> {
    fn of(topology: &'t Topology) -> Self {
        Distances {
            topology,
            nodes_of_cpus: topology.nodes_of_cpus(),
        }
    }

    /// Returns the firmware's distance from the node of a CPU as a multiple of the local one; 1
    /// where it is unknown.
    fn times_local(&self, nodes: Option<(NodeId, NodeId)>) -> f64 {
        let distance = nodes.and_then(|(from, to)| self.topology.distance(from, to));
        distance.map_or(1.0, |distance| f64::from(distance) / DISTANCE_LOCAL)
    }
}

fn stream_s(work: &StreamWork) -> f64 {
    let windows_s = f64::from(work.windows) * work.window_ns as f64 / 1e9;
    gib(work.bytes_per_thread) * STREAM_S_PER_GIB + windows_s
}

fn gib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 30)
}

/// Returns the seconds after which a matrix of this many cells begins no trial: one node, up to
/// eight nodes with each other, or more.
pub fn matrix_limit_s(cells: usize) -> f64 {
    match cells {
        ..=1 => 60.0,
        2..=64 => 300.0,
        _ => 900.0,
    }
}

/// Share of the time limit of a matrix that its rounds may be estimated to take: estimates are not
/// exact.
const LIMIT_SHARE: f64 = 0.8;

/// Plans the matrix so that its rounds fit into a time limit, and returns their least number: the
/// most of `rounds`, or if there is no time, the least of them. If there is no time for these
/// either, trials have no laps; a note of the plan says so.
///
/// # Errors
/// When no cell can be measured.
pub fn matrix_within(
    host: &Host,
    places: &mut MemoryPlaces,
    costs: &StepCosts,
    limit_s: f64,
    rounds: RangeInclusive<u32>,
) -> Result<(Plan, u32), Cannot> {
    let plan = latency_plan(places)?;
    let round_s = costs.round_s(&plan, &host.topology);
    let has_time = |rounds: u32| round_s * f64::from(rounds) <= limit_s * LIMIT_SHARE;
    let (least, most) = rounds.into_inner();
    if has_time(most) || places.emulated {
        return Ok((plan, most));
    }
    if has_time(least) || !kernels::CAN_FLUSH {
        return Ok((plan, least));
    }
    places.time_first_visits(host);
    let mut plan = latency_plan(places)?;
    plan.notes.push(format!(
        "{least} rounds with laps would take about {:.0} s: only lines are timed that no cache has \
         held since they were flushed; --within gives more time",
        round_s * f64::from(least)
    ));
    Ok((plan, least))
}

#[cfg(test)]
mod tests {
    use model::{CasePlan, Evidence, Measured, Outcome, Phase, Trial};
    use stats::Generator;

    use super::*;
    use crate::plan::test_hosts::alike;
    use crate::run::test_plans::request;
    use crate::{
        Cancel, Clock, RunRequest, SimulatedClock, TRIALS_MIN, TrialSpec, Workload, WorkloadError,
        execute,
    };

    /// Measures nothing: trials take a fifth longer than estimated, and scatter by 2 %.
    struct Slow<'t> {
        clock: SimulatedClock,
        costs: StepCosts,
        distances: Distances<'t>,
        noise: Generator,
    }

    impl Workload for Slow<'_> {
        fn trial(
            &mut self,
            case: &CasePlan,
            spec: &TrialSpec,
            _live: &mut dyn FnMut(Phase, Option<f64>),
            _cancel: &Cancel,
        ) -> Result<Trial, WorkloadError> {
            self.clock
                .advance(1.2 * self.costs.trial_s(case, &self.distances));
            Ok(Trial {
                round: spec.round,
                outcome: Outcome::Valid,
                measured: Some(Measured {
                    value: 100.0 + 2.0 * self.noise.normal(),
                    window_s: None,
                    warm_up_s: None,
                    sessions: None,
                    kernel: None,
                }),
                report: None,
                evidence: Evidence::default(),
                warnings: Vec::new(),
            })
        }
    }

    /// Plans the matrix of machines of `nodes` nodes with 300 MiB of last-level cache each, for a
    /// working set that was found, and runs it on a simulated clock.
    fn check(nodes: u32, working_set_mib: u64, has_laps: bool) {
        let machine = alike(nodes, 300);
        let host = Host::new(&machine);
        let mut places = MemoryPlaces::of(&host, None).unwrap();
        places.page_kind = PageKind::Transparent;
        places.set_working_set(&host, working_set_mib << 20);
        let limit_s = matrix_limit_s(places.pairs().len());
        let costs = StepCosts::stated();
        let wished = if nodes == 1 { 10 } else { TRIALS_MIN };
        let rounds = TRIALS_MIN..=wished;
        let (plan, least) = matrix_within(&host, &mut places, &costs, limit_s, rounds).unwrap();
        assert_eq!(
            (places.first_visits, plan.notes.len()),
            (!has_laps, usize::from(!has_laps))
        );
        let clock = SimulatedClock::new();
        let mut workload = Slow {
            clock: clock.clone(),
            costs,
            distances: Distances::of(&machine),
            noise: Generator::new(1, 0),
        };
        let request = RunRequest {
            plan,
            trials_min: least,
            trials_max: 20,
            time_bound_s: Some(limit_s),
            leaves_out: false,
            ..request(&["x"], 1)
        };
        let run = execute(request, &mut workload, &clock, &mut [], &Cancel::new()).unwrap();
        let trial_s = 2.0;
        assert!(clock.now_s() < limit_s + trial_s, "{} s", clock.now_s());
        assert_eq!(run.cases.len(), (nodes * nodes) as usize + 1);
        let fewest = run.cases.iter().map(|case| case.trials.len()).min();
        assert!(fewest >= Some(least as usize), "{fewest:?}");
    }

    #[test]
    fn one_node_takes_a_minute_whatever_its_working_set() {
        for working_set_mib in [128, 512, 1200] {
            check(1, working_set_mib, true);
        }
    }

    #[test]
    fn eight_nodes_take_five_minutes() {
        check(8, 128, true);
        check(8, 512, true);
        check(8, 1200, false);
    }

    #[test]
    fn thirty_two_nodes_take_fifteen_minutes() {
        check(32, 128, true);
        check(32, 256, false);
        check(32, 1200, false);
    }

    #[test]
    fn estimates_grow_with_distance_and_small_pages() {
        let machine = alike(2, 32);
        let host = Host::new(&machine);
        let mut places = MemoryPlaces::of(&host, None).unwrap();
        places.page_kind = PageKind::Transparent;
        let plan = latency_plan(&places).unwrap();
        let costs = StepCosts::stated();
        let trials: Vec<f64> = plan
            .cases
            .iter()
            .map(|case| costs.trial_s(case, &Distances::of(&machine)))
            .collect();
        let [local, far, _, _, walks] = trials[..] else {
            panic!("{trials:?}");
        };
        // 128 MiB are an eighth of what the stated costs are of; the firmware says 3.2 times.
        let lap_s = costs.lap_s / 8.0;
        assert!((far - local - 2.2 * lap_s).abs() < 1e-9, "{trials:?}");
        assert!(
            (walks - local - 1.5 * costs.prepare_s / 8.0).abs() < 1e-9,
            "{trials:?}"
        );
    }
}
