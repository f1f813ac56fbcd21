//! `numalab predict --dose`: moves small random parts of the pages there and back, and predicts
//! placements from what that costs.

use clap::Args;
use judgement::doctor::DoctorInput;
use judgement::plan::{Wish, predict};
use linux::Root;
use model::exit::ExitCode;
use model::{
    DosePrediction, DoseReport, GivenDose, JudgedBy, MemoryFigures, NodeId, Prediction, Topology,
    TryEnd, TryReport, TryVerdict, counted,
};
use placement::{Destination, Dose};
use report::Fields;
use residency::Options;
use residency::instances::Target;
use stats::DoseResponse;
use switchback::{Asked, Given, Live, Scene, Tried, Watched};

use crate::arguments::values;
use crate::changes::KINDS;
use crate::commands::try_placement::{not_taken_back, with_what_is_left};
use crate::failure::Failure;
use crate::files::state_folder::StateFolder;
use crate::interrupt;
use crate::measuring::counted_work::{self, Counted, Metric};
use crate::measuring::measured_memory::take_measured;
use crate::output;

/// Options of `numalab predict --dose`.
#[derive(Debug, Args)]
pub(crate) struct DoseArguments {
    /// Move 5, 10 and 20 % of the pages to another node and back, at random and again and again,
    /// and predict by what that costs.
    #[arg(long, conflicts_with_all = ["root", "shared"])]
    pub dose: bool,
    /// With --dose: how work is counted, as for `numalab try` [default: auto].
    #[arg(long, value_name = "METRIC", requires = "dose")]
    pub metric: Option<Metric>,
    /// With --dose: PostgreSQL role for reading its counters.
    #[arg(long, value_name = "ROLE", requires = "dose")]
    pub pg_role: Option<String>,
    /// With --dose: end after this time [default: 20m].
    #[arg(long = "for", value_name = "T", requires = "dose")]
    #[arg(value_parser = values::seconds)]
    pub seconds: Option<f64>,
    /// With --dose: seconds of a window [default: found from the load].
    #[arg(long, value_name = "S", requires = "dose")]
    #[arg(value_parser = values::window)]
    pub window: Option<f64>,
    /// With --dose: move at most this many MiB per second, there and back.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(allow_negative_numbers = true, requires = "dose")]
    pub mib_per_s: Option<u32>,
    /// With --dose: the seed of the order and of the pages [default: from the clock].
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        requires = "dose"
    )]
    pub seed: Option<u64>,
}

/// The doses, in parts of a million.
const DOSES: [u32; 3] = [50_000, 100_000, 200_000];
/// Without `--for`.
const SECONDS: f64 = 1200.0;
/// Below this, a dose of all pages changes nothing that could be measured.
const DISTANCE_MIN: f64 = 0.05;
/// A dose that is worse by this for 10 seconds is taken back at once.
const STOP_LOSS: f64 = 0.1;
const CONFIDENCE: f64 = 0.95;

/// What the model says before anything is moved.
struct Foreseen {
    prediction: Prediction,
    to_node: NodeId,
    /// By how much it would change the mean distance if all of the memory went there.
    distance: f64,
}

/// Doses the target, takes everything back, and shows what placements would give.
pub(crate) fn run(
    arguments: &DoseArguments,
    is_json: bool,
    (root, named, target): (&Root, &str, &Target),
    topology: &Topology,
    wishes: &[Wish],
) -> Result<(), Failure> {
    let foreseen = foresee(root, target, topology, wishes)?;
    let metric = arguments.metric.clone().unwrap_or(Metric::Auto);
    let counted = counted_work::counted(root, target, &metric)?;
    let seed = arguments.seed;
    let seed = seed.unwrap_or_else(|| jiff::Timestamp::now().as_nanosecond() as u64);
    let placements: Vec<Tried> = [Tried::default()]
        .into_iter()
        .chain(DOSES.map(|dose| dosed(dose, seed, foreseen.to_node)))
        .collect();
    for tried in &placements {
        switchback::foresee(root, target, topology, tried)?;
    }
    let mut session = TryReport {
        target: named.to_owned(),
        metric: metric.to_string(),
        seed,
        gain: 0.03,
        seconds_max: arguments.seconds.unwrap_or(SECONDS),
        ..TryReport::default()
    };
    let is_emulated = topology.emulated == Some(true) && !counted.has_emulated_cost();
    let asked = asked(arguments, &counted);
    let emulated_cost = counted.has_emulated_cost();
    let role = arguments.pg_role.clone();
    let counters = Watched::start(&session.metric, move || counted.open(role.as_deref()))?;
    session.unit = counters.unit.to_owned();
    let journal = StateFolder::from_environment()?.journal();
    let cancel = interrupt::cancel_on_signals()?;
    let scene = Scene {
        root,
        topology,
        target,
        placements: &placements,
        bytes_per_s: arguments.mib_per_s.map(|mib| u64::from(mib) << 20),
        journal: &journal,
        kinds: KINDS,
        is_cancelled: &|| cancel.is_cancelled(),
        tell: &|at_s, text| output::talk(&format!("{at_s:8.1} s  {text}")),
    };
    let mut live = Live::begin(scene, counters)?;
    let names = placements.iter().map(Tried::to_string).collect();
    let tried = switchback::attempt(&mut live, names, &asked, &mut session);
    let (log, ended) = live.finish(None);
    let ended = ended.map_err(not_taken_back);
    if let Err(error) = tried {
        return Err(with_what_is_left(error.into(), ended));
    }
    session.log = log;
    session.is_left = ended.as_ref().err().map(|left| left.message.clone());
    let mut report = concluded(session, &placements, foreseen, is_emulated);
    if emulated_cost {
        let note = "emulated cost: what a read costs is read from a table, so the figures say \
                    nothing about hardware";
        report.notes.push(note.to_owned());
    }
    match is_json {
        true => output::json(&report.document())?,
        false => output::data(&report::dose_text(&report, &output::text_options()))?,
    }
    ended.and_then(|()| conclusion(&report))
}

fn dosed(parts_per_million: u32, seed: u64, node: NodeId) -> Tried {
    let dose = Dose {
        parts_per_million,
        seed,
    };
    Tried {
        memory: Some(Destination::Node(node)),
        dose: Some(dose),
        ..Tried::default()
    }
}

fn asked(arguments: &DoseArguments, counted: &Counted) -> Asked {
    Asked {
        by: Some(JudgedBy::Cost),
        window_s: arguments.window,
        least_window_s: counted.least_window_s(),
        stop_loss: STOP_LOSS,
        has_quota: false,
        // Blocks go on until the time is over: the line has no interval that may be looked at
        // after each.
        is_judged: false,
    }
}

/// Asks the model where doses should go, and what placements would mean.
fn foresee(
    root: &Root,
    target: &Target,
    topology: &Topology,
    wishes: &[Wish],
) -> Result<Foreseen, Failure> {
    let refused = |why: String| {
        Failure::new(ExitCode::Usage, format!("cannot dose {target}: {why}"))
            .advise("`numalab inspect` shows where its memory lies, and its CPUs")
    };
    let residency = residency::inspect(root, target, topology, &Options::default())?;
    let nodes: Vec<NodeId> = topology.memory_nodes().iter().collect();
    if nodes.len() < 2 {
        return Err(refused("this machine has one node with memory".to_owned()));
    }
    let mut input = DoctorInput::read(root, topology.clone(), Some(residency))?;
    take_measured(&mut input);
    let to_node = |node: &NodeId| Wish {
        name: node.to_string(),
        memory: Some(Destination::Node(*node)),
        ..Wish::default()
    };
    let mut all: Vec<Wish> = nodes.iter().map(to_node).collect();
    if wishes.is_empty() {
        let shown = predict(&input, &[])
            .map_err(refused)?
            .placements
            .into_iter();
        let whole = shown.filter(|it| !it.is_shared_only);
        let parsed = whole.filter_map(|it| it.placement.parse::<Tried>().ok());
        let parsed = parsed.map(|tried| Wish {
            name: tried.to_string(),
            memory: tried.memory,
            ..Wish::default()
        });
        all.extend(parsed);
    }
    all.extend(wishes.iter().cloned());
    let mut prediction = predict(&input, &all).map_err(refused)?;
    let asked = prediction.placements.split_off(nodes.len());
    let whole = std::mem::replace(&mut prediction.placements, asked);
    let now = prediction.now.relative_access;
    let distances = whole.iter().map(|it| it.after.relative_access - now);
    // Of equals the one that brings memory nearer.
    let farthest = nodes.iter().zip(distances).max_by(|one, other| {
        (one.1.abs(), -one.1)
            .partial_cmp(&(other.1.abs(), -other.1))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    match farthest {
        Some((node, distance)) if distance.abs() >= DISTANCE_MIN => Ok(Foreseen {
            prediction,
            to_node: *node,
            distance,
        }),
        _ => Err(refused(
            "wherever its pages were, an access would be as far: its threads run on all nodes"
                .to_owned(),
        )),
    }
}

/// The share of the pages that a dose moves.
fn share(tried: &Tried) -> f64 {
    tried
        .dose
        .map_or(0.0, |it| f64::from(it.parts_per_million) / 1e6)
}

/// What follows from a session.
fn concluded(
    session: TryReport,
    placements: &[Tried],
    foreseen: Foreseen,
    is_emulated: bool,
) -> DoseReport {
    let stopped: Vec<&str> = session
        .placements
        .iter()
        .filter(|it| it.verdict == TryVerdict::Stopped)
        .map(|it| it.placement.as_str())
        .collect();
    let given = placements.iter().map(|tried| Given {
        name: tried.to_string(),
        distance: share(tried) * foreseen.distance,
    });
    // The windows of a dose that was taken back say nothing: it had too few.
    let used = given.filter(|it| !stopped.contains(&it.name.as_str()));
    let used: Vec<Given> = used.collect();
    let blocks = switchback::blocks(&session.windows, &used);
    let changes = switchback::changes(&blocks, &used);
    let doses = placements.iter().skip(1).map(|tried| {
        let name = tried.to_string();
        let mut known = used.iter().zip(&changes);
        let known = known.find(|(given, _)| given.name == name);
        GivenDose {
            share: share(tried),
            distance: share(tried) * foreseen.distance,
            cpu_time_change: known.and_then(|(_, change)| *change),
            name,
        }
    });
    let stopped = stopped.iter().map(|name| {
        format!("{name} was taken back at once, and is left out: it was much worse for seconds")
    });
    let notes: Vec<String> = session.notes.iter().cloned().chain(stopped).collect();
    let response = DoseResponse::of(&blocks, CONFIDENCE);
    let refused = refusal(response.as_ref(), blocks.len(), is_emulated);
    let now = foreseen.prediction.now;
    let predicted = foreseen.prediction.placements.into_iter().map(|it| {
        prediction(
            it.placement,
            &now,
            it.after,
            response.as_ref(),
            refused.is_some(),
            is_emulated,
        )
    });
    DoseReport {
        placements: predicted.collect(),
        target: session.target,
        metric: session.metric,
        unit: session.unit,
        seed: session.seed,
        window_s: session.window_s,
        lead_in_s: session.lead_in_s,
        to_node: foreseen.to_node,
        distances_by: foreseen.prediction.distances_by,
        doses: doses.collect(),
        blocks: blocks.len() as u32,
        slope: response.map(|it| it.slope),
        slope_low: response.map(|it| it.interval.low),
        slope_high: response.map(|it| it.interval.high),
        refused,
        now,
        end: session.end,
        end_because: session.end_because,
        seconds: session.seconds,
        is_left: session.is_left,
        windows: session.windows,
        log: session.log,
        notes,
    }
}

fn refusal(response: Option<&DoseResponse>, blocks: usize, is_emulated: bool) -> Option<String> {
    match response {
        _ if is_emulated => {
            Some("this machine is emulated, so its figures mean nothing".to_owned())
        }
        None => Some(format!(
            "only {} of windows could be used, and five are the fewest: give it longer (--for)",
            counted(blocks as u64, "block")
        )),
        Some(found) if found.is_bent => Some(
            "cost does not grow in proportion to the dose, so no line through small doses holds \
             for a whole placement"
                .to_owned(),
        ),
        Some(found) if found.is_noise() => Some("the doses show nothing above noise".to_owned()),
        Some(_) => None,
    }
}

fn prediction(
    placement: String,
    now: &MemoryFigures,
    after: MemoryFigures,
    response: Option<&DoseResponse>,
    is_refused: bool,
    is_emulated: bool,
) -> DosePrediction {
    let distance = after.relative_access - now.relative_access;
    let found = response.filter(|it| !is_emulated && !it.is_bent);
    let found = found.map(|it| it.change(distance));
    DosePrediction {
        placement,
        after,
        cpu_time_change: found.map(|it| it.0).filter(|_| !is_refused),
        low: found.map(|it| it.1.low),
        high: found.map(|it| it.1.high),
    }
}

fn conclusion(report: &DoseReport) -> Result<(), Failure> {
    let because = report.end_because.clone().unwrap_or_default();
    let code = match report.end {
        TryEnd::Planned | TryEnd::Decided | TryEnd::TimeOver => return Ok(()),
        TryEnd::NoCounter | TryEnd::TargetEnded => ExitCode::WorkloadFailed,
        TryEnd::Vetoed => ExitCode::PlacementNotHonoured,
        TryEnd::Interrupted => ExitCode::Interrupted,
    };
    let message = match report.end {
        TryEnd::Interrupted => "interrupted; everything is as before".to_owned(),
        _ => because,
    };
    Err(Failure::new(code, message))
}

#[cfg(test)]
mod tests {
    use model::{PredictedPlacement, TriedPlacement, TryWindow};

    use super::*;

    /// What follows from ten blocks in which a unit costs `cost` of the distance and the block.
    fn found(
        cost: impl Fn(f64, u32) -> f64,
        stopped: Option<u32>,
        is_emulated: bool,
    ) -> DoseReport {
        let tried = DOSES.map(|dose| dosed(dose, 1, NodeId(1)));
        let placements: Vec<Tried> = [Tried::default()].into_iter().chain(tried).collect();
        let is_stopped = |tried: &Tried| {
            tried
                .dose
                .is_some_and(|it| Some(it.parts_per_million) == stopped)
        };
        let window = |tried: &Tried, pair: u32| TryWindow {
            placement: tried.to_string(),
            pair,
            seconds: 10.0,
            work: Some(1000),
            cpu_s: Some(cost(share(tried), pair)),
            ..TryWindow::default()
        };
        let blocks = (1..=10).flat_map(|pair| placements.iter().map(move |it| (it, pair)));
        let blocks = blocks.filter(|(tried, pair)| *pair < 2 || !is_stopped(tried));
        let judged = |tried: &Tried| TriedPlacement {
            placement: tried.to_string(),
            verdict: match is_stopped(tried) {
                true => TryVerdict::Stopped,
                false => TryVerdict::Undecided,
            },
            ..TriedPlacement::default()
        };
        let session = TryReport {
            windows: blocks.map(|(tried, pair)| window(tried, pair)).collect(),
            placements: placements[1..].iter().map(judged).collect(),
            ..TryReport::default()
        };
        let at = |relative_access: f64| MemoryFigures {
            relative_access,
            ..MemoryFigures::default()
        };
        let placement = PredictedPlacement {
            placement: "1".to_owned(),
            after: at(2.0),
            ..PredictedPlacement::default()
        };
        let foreseen = Foreseen {
            prediction: Prediction {
                now: at(1.0),
                placements: vec![placement],
                ..Prediction::default()
            },
            to_node: NodeId(1),
            distance: 1.0,
        };
        concluded(session, &placements, foreseen, is_emulated)
    }

    /// Half as much again if all memory is far, and noise of a thousandth.
    fn line(dose: f64, block: u32) -> f64 {
        (1.0 + 0.5 * dose) * (1.0 + 0.001 * f64::from(block % 3) * (1.0 - 9.0 * dose))
    }

    #[test]
    fn a_line_predicts_with_and_without_a_dose_that_was_taken_back() {
        for stopped in [None, Some(200_000)] {
            let report = found(line, stopped, false);
            assert_eq!(report.refused, None, "{report:?}");
            let placement = &report.placements[0];
            let change = placement.cpu_time_change.unwrap();
            assert!((change - 0.5).abs() < 0.03, "{placement:?}");
            assert!(placement.low.unwrap() < 0.5 && placement.high.unwrap() > 0.5);
            assert_eq!(report.blocks, 10);
            assert_eq!(report.doses[2].cpu_time_change.is_none(), stopped.is_some());
            assert_eq!(report.notes.len(), usize::from(stopped.is_some()));
        }
    }

    #[test]
    fn what_shows_nothing_is_refused_and_says_what_is_excluded() {
        let noise =
            |dose: f64, block: u32| 1.0 + 0.01 * (f64::from(block) * 7.3 + dose * 99.0).sin();
        let report = found(noise, None, false);
        assert!(report.refused.unwrap().contains("nothing above noise"));
        let placement = &report.placements[0];
        assert_eq!(placement.cpu_time_change, None);
        assert!(placement.low.unwrap() < 0.0 && placement.high.unwrap() > 0.0);
        let report = found(line, None, true);
        assert!(report.refused.unwrap().contains("emulated"));
        assert_eq!(report.placements[0].low, None);
        let bent = found(
            |dose, block| line(0.0, block) + 10.0 * dose * dose,
            None,
            false,
        );
        assert!(bent.refused.unwrap().contains("in proportion"));
    }
}
