//! One trial: a fresh server, loaded tables, warm-up, window, counters and evidence.

use std::time::{Duration, Instant};

use linux::Root;
use linux::own_program::OwnProgram;
use model::{Phase, SessionEvidence, SgaEvidence};
use residency::RangePages;

use crate::gates::Gates;
use crate::session::{Command, Event, SLICE_S};
use crate::sessions::{CALL_SLACK, Sessions};
use crate::window::window;
use crate::{
    CacheMemory, Cluster, CounterCheck, Error, Loaded, Server, ServerPlan, TrialOrder, TrialResult,
    Watch, Window,
};

/// Length of the rehearsal window.
const REHEARSAL_S: f64 = 0.05;

/// A trial on a fresh server.
pub struct TrialOf<'a> {
    /// What starts it.
    pub cluster: &'a dyn Cluster,
    /// How it is started.
    pub launcher: &'a OwnProgram,
    /// Its plan.
    pub plan: &'a ServerPlan,
    /// Called with its processes once the tables are loaded.
    pub on_loaded: &'a mut dyn FnMut(&[u32]) -> Result<(), Error>,
}

impl TrialOf<'_> {
    /// Runs the trial; the server is stopped at the end.
    ///
    /// # Errors
    /// When the trial cannot run; [`Error::Cancelled`]. A trial that does not count is not an
    /// error: its result gives the reason.
    pub fn run(&mut self, order: &TrialOrder, watch: &mut Watch<'_>) -> Result<TrialResult, Error> {
        (watch.live)(Phase::Loading, None);
        let root = Root::live();
        let huge_pages_before = placement::evidence::huge_pools(&root)?;
        let mut server = self.cluster.start(self.plan, self.launcher)?;
        let loaded = server.load(self.plan, order.seed);
        let result = loaded.and_then(|mut loaded| {
            (self.on_loaded)(&loaded.processes(&root))?;
            measure(&root, loaded.as_mut(), order, watch)
        });
        Ok(TrialResult {
            huge_pages_before,
            ..explain(server.as_mut(), result)?
        })
    }
}

/// Returns `result`, or why the server ended if it has ended: the log of a dead server is more
/// informative than a client's error.
pub(crate) fn explain<T>(server: &mut dyn Server, result: Result<T, Error>) -> Result<T, Error> {
    match result {
        Err(Error::Cancelled) => Err(Error::Cancelled),
        Err(error) => Err(server.ended().unwrap_or(error)),
        result => result,
    }
}

/// Measures a server whose tables are loaded.
///
/// # Errors
/// As for [`TrialOf::run`].
pub fn measure(
    root: &Root,
    loaded: &mut dyn Loaded,
    order: &TrialOrder,
    watch: &mut Watch<'_>,
) -> Result<TrialResult, Error> {
    let hits = loaded.reads_per_statement(order.work_unit, order.seed)?;
    let mut sessions = Sessions::start(loaded.openers(order.seed), watch.cancelled)?;
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
    let table_reads = counters.outside_since(&counters_before);
    let own = own_gain(&own_before, &measured.own_hits).map(|hits| CounterCheck {
        source: loaded.session_counter(),
        hits,
        expected,
    });
    if own.is_some() && !loaded.is_ours() {
        // The other counters include what others read in the meantime.
        checks.clear();
    }
    checks.extend(own);
    let gates = Gates {
        kind: loaded.kind(),
        checks: &checks,
        table_reads,
    };
    let mut contradictions = gates.contradictions();
    contradictions.extend(loaded.contradictions(root));
    let buffers = sight
        .map(|sight| sight.evidence(root, loaded))
        .transpose()?;
    let evidence = evidence_of_sessions(root, &sessions, &measured.windows)?;
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

/// Where the cache was before the window.
struct Sight {
    cache: CacheMemory,
    before: Vec<RangePages>,
}

impl Sight {
    /// Reads where the cache is. On a server that is not numalab's, a failure is only a remark.
    fn of(root: &Root, loaded: &mut dyn Loaded) -> Result<(Option<Self>, Vec<String>), Error> {
        let looked = loaded.cache(root).and_then(|cache| {
            let before = cache.pages(root)?;
            Ok(Sight { cache, before })
        });
        match looked {
            Ok(sight) => Ok((Some(sight), Vec::new())),
            Err(error) if loaded.is_ours() => Err(error),
            Err(error) => {
                let cache = loaded.kind().cache();
                let remark = format!("cannot tell where the {cache} are: {error}");
                Ok((None, vec![remark]))
            }
        }
    }

    /// Reads again where the cache is, and returns the evidence.
    fn evidence(&self, root: &Root, loaded: &mut dyn Loaded) -> Result<SgaEvidence, Error> {
        let processes = loaded.processes(root);
        let cache = CacheMemory {
            processes,
            ..self.cache.clone()
        };
        cache.evidence(root, &self.before, cache.pages(root)?)
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
    let mut rule = stats::WarmUp::new(order.warm_up_s_min, order.warm_up_s_max);
    let step = Duration::from_secs_f64(rule.step_s(1.5 * SLICE_S));
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
        let warm_up_s = begun.elapsed().as_secs_f64();
        let is_partial = rates.iter().any(|rate| *rate <= 0.0);
        if let Some(is_steady) = rule.ends(rate, is_partial, warm_up_s) {
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

/// Returns the increase of the sessions' own counters, if the server keeps them for all sessions.
fn own_gain(before: &[Option<u64>], after: &[Option<u64>]) -> Option<u64> {
    let gained = before
        .iter()
        .zip(after)
        .map(|(before, after)| Some(after.as_ref()?.saturating_sub(*before.as_ref()?)));
    gained.sum()
}

/// Returns what the kernel permits each session, and the CPUs that it used; nothing if the tasks of
/// sessions are not on this machine.
fn evidence_of_sessions(
    root: &Root,
    sessions: &Sessions,
    windows: &[Window],
) -> Result<Vec<SessionEvidence>, Error> {
    let Some(tasks) = sessions.tasks.iter().copied().collect::<Option<Vec<u32>>>() else {
        return Ok(Vec::new());
    };
    let evidence = tasks.into_iter().zip(windows).map(|(task, window)| {
        let allowed = linux::proc_status::allowed(root, task)?;
        Ok(SessionEvidence {
            pid: task,
            cpus_allowed: allowed.cpus,
            memory_nodes_allowed: allowed.memory_nodes,
            cpus_used: window.cpus_used.clone(),
            policy: placement::evidence::policy_of_process(root, task)?,
            bytes_read_by_node: Default::default(),
            own_memory: None,
        })
    });
    evidence.collect()
}

#[cfg(test)]
mod tests {
    use linux::Root;
    use model::{CalibrationPoint, Outcome};

    use super::{measure, own_gain};
    use crate::memory_server::{Fault, MemoryServer};
    use crate::{CalibrationOrder, Error, TrialOrder, TrialResult, Watch, sweep};

    const ORDER: TrialOrder = TrialOrder {
        seed: 1,
        work_unit: 16,
        window_s: 0.2,
        warm_up_s_min: 0.1,
        warm_up_s_max: 2.0,
    };

    fn trial(fault: Fault, is_cancelled: bool) -> Result<TrialResult, Error> {
        let mut watch = Watch {
            live: &mut |_, _| {},
            cancelled: &|| is_cancelled,
        };
        let mut server = MemoryServer::new(2, fault);
        measure(&Root::live(), &mut server, &ORDER, &mut watch)
    }

    #[test]
    fn a_trial_counts_what_its_sessions_did_in_their_windows() {
        let result = trial(Fault::default(), false).unwrap();
        assert!(result.contradictions.is_empty(), "{result:?}");
        assert_eq!(result.samples.len(), 20);
        assert_eq!(result.hits_per_statement, 16.0);
        for window in &result.windows {
            assert!(window.statements > 0 && window.seconds > 0.0, "{window:?}");
            assert!(window.statements_of_call > window.statements);
        }
        // One process does the work of both sessions, so each has half of its time.
        let cpu_s: Vec<_> = result.windows.iter().map(|it| it.cpu_s.is_some()).collect();
        assert_eq!(cpu_s, [true, true]);
        let pids: Vec<u32> = result.sessions.iter().map(|it| it.pid).collect();
        assert_eq!(pids, [std::process::id(); 2]);
        let stored = result.trial(3, &ORDER);
        assert_eq!((stored.round, &stored.outcome), (3, &Outcome::Valid));
        assert_eq!(stored.evidence.counters[0].source, "reads");
        let figures = stored.measured.unwrap().sessions.unwrap();
        assert_eq!(figures.logical_reads, figures.statements * 16);
    }

    #[test]
    fn what_the_server_says_otherwise_invalidates_a_trial() {
        let check = |fault, expected: &str| {
            let result = trial(fault, false).unwrap();
            let [reason] = &result.contradictions[..] else {
                panic!("{:?}", result.contradictions);
            };
            assert!(reason.contains(expected), "{reason}");
        };
        let uncounted = Fault {
            uncounted_pct: 10,
            ..Fault::default()
        };
        check(uncounted, "reads counted");
        let outside = Fault {
            reads_outside: true,
            ..Fault::default()
        };
        check(outside, "from outside the shared buffers");
    }

    #[test]
    fn a_trial_that_cannot_be_measured_is_an_error() {
        let message = |fault, is_cancelled| trial(fault, is_cancelled).unwrap_err().to_string();
        let changed = Fault {
            changes_rows: true,
            ..Fault::default()
        };
        let text = message(changed, false);
        assert!(
            text.contains("expected the rows that were written"),
            "{text}"
        );
        let failing = Fault {
            fails: true,
            ..Fault::default()
        };
        let text = message(failing, false);
        assert!(text.starts_with("session "), "{text}");
        assert_eq!(message(Fault::default(), true), "cancelled");
    }

    #[test]
    fn a_sweep_doubles_within_the_rows_of_a_table() {
        let mut points = Vec::new();
        let order = CalibrationOrder {
            seed: 1,
            gain_min: -1.0,
            work_unit_max: 8,
        };
        let mut watch = Watch {
            live: &mut |_, _| {},
            cancelled: &|| false,
        };
        let mut server = MemoryServer::new(2, Fault::default());
        let mut take = |point: CalibrationPoint| points.push(point);
        sweep(&mut server, &order, &mut take, &mut watch).unwrap();
        let units: Vec<u32> = points.iter().map(|point| point.work_unit).collect();
        assert_eq!(units, [1, 2, 4, 8]);
        assert!(points.iter().all(|point| point.logical_reads_per_s > 0.0));
    }

    #[test]
    fn own_counts_need_every_session() {
        let check = |after, expected| {
            assert_eq!(own_gain(&[Some(1), Some(2)], after), expected);
        };
        check(&[Some(11), Some(22)], Some(30));
        check(&[Some(11), None], None);
        assert_eq!(own_gain(&[Some(1), None], &[Some(11), Some(22)]), None);
    }
}
