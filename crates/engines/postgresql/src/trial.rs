//! One trial: a fresh server, loaded tables, warm-up, window, counters and evidence.

use std::time::{Duration, Instant};

use linux::Root;
use model::{Phase, SessionEvidence};
use residency::RangePages;

use crate::buffers::BufferBlocks;
use crate::connection::Loaded;
use crate::counters::{CounterCheck, CounterSource};
use crate::gates::Gates;
use crate::session::{Command, Event, SLICE_S};
use crate::sessions::{CALL_SLACK, Sessions};
use crate::statement::hits_per_statement;
use crate::window::window;
use crate::{Cluster, Error, Launcher, ServerPlan, TrialOrder, TrialResult, Watch, Window};

/// Length of the rehearsal window.
const REHEARSAL_S: f64 = 0.05;
/// Samples in each of the two halves that the steady-state rule compares.
const STEADY_SAMPLES: usize = 3;
/// Maximum relative difference of the two halves.
const STEADY_TOLERANCE: f64 = 0.05;

/// Runs a trial on a fresh server of `cluster`, which is stopped at the end.
///
/// # Errors
/// When the trial cannot run; [`Error::Cancelled`]. A trial that does not count is not an error:
/// its result gives the reason.
pub fn run_trial(
    cluster: &Cluster,
    launcher: &Launcher,
    plan: &ServerPlan,
    order: &TrialOrder,
    watch: &mut Watch<'_>,
) -> Result<TrialResult, Error> {
    (watch.live)(Phase::Loading, None);
    let root = Root::live();
    let huge_pages_before = placement::evidence::huge_pools(&root)?;
    let mut server = cluster.start(plan, launcher)?;
    let result = Loaded::ours(&server, plan, order.seed)
        .and_then(|mut loaded| measure(&root, &mut loaded, order, watch));
    Ok(TrialResult {
        huge_pages_before,
        ..server.explain(result)?
    })
}

/// Measures a server whose tables are loaded.
///
/// # Errors
/// As for [`run_trial`].
pub(crate) fn measure(
    root: &Root,
    loaded: &mut Loaded,
    order: &TrialOrder,
    watch: &mut Watch<'_>,
) -> Result<TrialResult, Error> {
    let hits = {
        let Loaded { client, tables, .. } = &mut *loaded;
        hits_per_statement(client, &tables[0], order.work_unit, order.seed)?
    };
    let mut sessions = Sessions::start(loaded.session_orders(order.seed), watch.cancelled)?;
    let (warm_up_s, was_steady) = warm_up(&sessions, order, hits, watch)?;
    let (sight, remarks) = Sight::of(root, loaded)?;
    // A rehearsal loads the catalogs and files that the calls and the reading of counters need.
    let rehearsal = TrialOrder {
        window_s: REHEARSAL_S,
        ..*order
    };
    loaded.counters()?;
    let (live, cancelled) = (&mut |_, _| {}, watch.cancelled);
    let mut silent = Watch { live, cancelled };
    window(root, &sessions, &rehearsal, hits, &mut silent)?;
    let own_before = settle(&mut sessions, watch.cancelled)?;
    let counters_before = loaded.counters()?;
    let measured = window(root, &sessions, order, hits, watch)?;
    let counters = loaded.counters()?;
    let statements: u64 = measured
        .windows
        .iter()
        .map(|it| it.statements_of_call)
        .sum();
    let expected = statements as f64 * hits;
    let mut checks = counters.checks(&counters_before, expected);
    let table_reads = counters.table_reads(&counters_before);
    let own = own_check(&own_before, &measured.own_hits, expected);
    if own.is_some() && !loaded.is_ours {
        // The other counters include what others read in the meantime.
        checks.clear();
    }
    checks.extend(own);
    let gates = Gates {
        checks: &checks,
        table_reads,
    };
    let contradictions = gates.contradictions();
    let buffers = sight
        .map(|sight| sight.evidence(root, loaded))
        .transpose()?;
    let evidence = match loaded.is_on_this_machine() {
        true => evidence_of_sessions(root, &sessions, &measured.windows)?,
        false => Vec::new(),
    };
    Ok(TrialResult {
        warm_up_s,
        was_steady,
        hits_per_statement: hits,
        machine: measured.machine_gain(),
        samples: measured.samples,
        windows: measured.windows,
        checks,
        table_reads,
        buffers,
        sessions: evidence,
        huge_pages_before: Vec::new(),
        huge_pages_during: placement::evidence::huge_pools(root)?,
        contradictions,
        remarks,
    })
}

/// Where the blocks of the shared buffers were before the window.
struct Sight {
    blocks: BufferBlocks,
    before: RangePages,
}

impl Sight {
    /// Reads where the blocks are. On a server that is not numalab's, a failure is only a remark.
    fn of(root: &Root, loaded: &mut Loaded) -> Result<(Option<Self>, Vec<String>), Error> {
        let looked = loaded.buffers(root).and_then(|(blocks, processes)| {
            let before = blocks.pages(root, &processes)?;
            Ok(Sight { blocks, before })
        });
        match looked {
            Ok(sight) => Ok((Some(sight), Vec::new())),
            Err(error) if loaded.is_ours => Err(error),
            Err(error) => {
                let remark = format!("where the shared buffers lie was not seen: {error}");
                Ok((None, vec![remark]))
            }
        }
    }

    /// Reads again where the blocks are, and returns the evidence.
    fn evidence(&self, root: &Root, loaded: &Loaded) -> Result<model::SgaEvidence, Error> {
        let Sight { blocks, before } = self;
        let processes = loaded.processes(root, blocks.postmaster);
        let mut after = blocks.pages(root, &processes)?;
        // A page that did not exist before has not moved.
        for (node, before) in after.nodes.iter_mut().zip(&before.nodes) {
            *node = node.filter(|_| before.is_some());
        }
        let (before, after) = (blocks.bytes_by_node(before), blocks.bytes_by_node(&after));
        blocks.evidence(root, loaded.pid, &before, &after)
    }
}

/// Lets the sessions run until their rate is steady, within limits; returns how long that took and
/// whether the rate was steady.
fn warm_up(
    sessions: &Sessions,
    order: &TrialOrder,
    hits: f64,
    watch: &mut Watch<'_>,
) -> Result<(f64, bool), Error> {
    sessions.tell(Command::WarmUp {
        work_unit: order.work_unit,
    });
    let begun = Instant::now();
    let mut rates = vec![0.0; sessions.len()];
    let mut seen = Vec::new();
    let step = Duration::from_secs_f64((order.warm_up_s_min / 4.0).clamp(1.5 * SLICE_S, 0.5));
    let mut look_at = begun + step;
    loop {
        if let Some((session, event)) = sessions.next(look_at, watch.cancelled)? {
            if let Event::Slice { statements_per_s } = event {
                rates[session as usize] = statements_per_s;
            }
            continue;
        }
        look_at += step;
        let rate = rates.iter().sum::<f64>() * hits;
        (watch.live)(Phase::WarmingUp, Some(rate));
        seen.push(rate);
        let warm_up_s = begun.elapsed().as_secs_f64();
        let is_steady = rates.iter().all(|rate| *rate > 0.0)
            && stats::is_steady(&seen, STEADY_SAMPLES, STEADY_TOLERANCE) == Some(true);
        if (is_steady && warm_up_s >= order.warm_up_s_min) || warm_up_s >= order.warm_up_s_max {
            return Ok((warm_up_s, is_steady));
        }
    }
}

/// Makes all sessions report their counters, and waits for them.
fn settle(
    sessions: &mut Sessions,
    cancelled: &dyn Fn() -> bool,
) -> Result<Vec<Option<u64>>, Error> {
    sessions.tell(Command::Settle);
    let mut own = vec![None; sessions.len()];
    sessions.all(
        "handing in counters",
        CALL_SLACK,
        cancelled,
        |_, session, event| {
            let Event::Settled { own_hits } = event else {
                return false;
            };
            own[session as usize] = own_hits;
            true
        },
    )?;
    Ok(own)
}

/// Returns the check of the sessions' own counters, if the server keeps them for all sessions.
fn own_check(before: &[Option<u64>], after: &[Option<u64>], expected: f64) -> Option<CounterCheck> {
    let gained = before
        .iter()
        .zip(after)
        .map(|(before, after)| Some(after.as_ref()?.saturating_sub(*before.as_ref()?)));
    let hits = gained.sum::<Option<u64>>()?;
    let source = CounterSource::BackendIo;
    Some(CounterCheck {
        source,
        hits,
        expected,
    })
}

fn evidence_of_sessions(
    root: &Root,
    sessions: &Sessions,
    windows: &[Window],
) -> Result<Vec<SessionEvidence>, Error> {
    let evidence = sessions.pids.iter().zip(windows).map(|(pid, window)| {
        let allowed = linux::proc_status::allowed(root, *pid)?;
        Ok(SessionEvidence {
            pid: *pid,
            cpus_allowed: allowed.cpus,
            memory_nodes_allowed: allowed.memory_nodes,
            cpus_used: window.cpus_used.clone(),
            policy: placement::evidence::policy_of_process(root, *pid)?,
            bytes_read_by_node: Default::default(),
            own_memory: None,
        })
    });
    evidence.collect()
}

#[cfg(test)]
mod tests {
    use super::own_check;

    #[test]
    fn own_counts_need_every_session() {
        assert_eq!(
            own_check(&[Some(1), Some(2)], &[Some(11), Some(22)], 30.0)
                .unwrap()
                .hits,
            30
        );
        assert_eq!(own_check(&[Some(1), None], &[Some(11), None], 30.0), None);
    }
}
