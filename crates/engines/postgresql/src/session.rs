//! One session: its block of PL/pgSQL, and the thread of its client.
//!
//! The block is anonymous (`DO`), so nothing is created in the server for it. It reports its
//! results in notices, which the server sends at once.

use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use linux::Root;
use linux::schedstat::{self, ScheduleTimes};
use postgres::{Client, NoTls};

use crate::counters::hand_in;
use crate::tables::Table;
use crate::{Error, Version};

/// Duration of one call of the warm-up.
pub(crate) const SLICE_S: f64 = 0.1;

/// Settings of every connection that runs statements of the load, on any server.
pub(crate) const SETTINGS: &str = "SET client_min_messages = notice; SET enable_seqscan = off; \
     SET enable_bitmapscan = off; SET enable_indexonlyscan = off; \
     SET plan_cache_mode = force_generic_plan; SET jit = off; \
     SET max_parallel_workers_per_gather = 0; SET statement_timeout = 0; \
     SET idle_in_transaction_session_timeout = 0";

/// SQL expression with which the backend reads its own scheduler times. Files of /proc report a
/// length of 0, so the length must be given. CPU time is updated at a tick and when a process reads
/// its own `stat` (kernel/sched/cputime.c, `thread_group_cputime`), so `stat` is read first.
const OWN_TIMES: &str = "left(pg_read_file('/proc/self/stat', 0, 1), 0) \
                         || pg_read_file('/proc/self/schedstat', 0, 200)";

/// A command of the coordinator to a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Command {
    /// Run calls with this work unit until the next command.
    WarmUp { work_unit: u32 },
    /// Report counters.
    Settle,
    /// Run one call over the window.
    Measure { work_unit: u32, call: Call },
}

/// The times of one call, in seconds since the epoch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Call {
    /// Start of the window; infinite: no window.
    pub starts: f64,
    /// End of the window.
    pub ends: f64,
    /// The call ends at the first statement end after this.
    pub until: f64,
    /// Time between two samples.
    pub sample_s: f64,
}

/// An event that a session reports to the coordinator.
pub(crate) enum Event {
    /// The session is connected to this backend; `stop` cancels its query.
    Connected {
        pid: u32,
        stop: postgres::CancelToken,
    },
    /// A call of the warm-up ended; its statements per second.
    Slice { statements_per_s: f64 },
    /// Counters are reported; its own hits, if the server counts them.
    Settled { own_hits: Option<u64> },
    /// Statements of the window so far.
    Sample { statements: u64 },
    /// The window began or ended for this session.
    Mark(Mark),
    /// The call over the window ended.
    Measured { done: Done, own_hits: Option<u64> },
    /// The session cannot continue.
    Failed(Error),
}

/// The start or end of a window, with the scheduler's times of the backend; `None` if they cannot
/// be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// When numalab read them; `None`: the backend did, at that very moment.
    pub read_at: Option<Instant>,
    pub times: Option<ScheduleTimes>,
}

/// Result of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Done {
    /// Statements of the call.
    pub statements: u64,
    /// Statements of the window.
    pub counted: u64,
    /// Length of the window, µs.
    pub window_us: u64,
    /// The longest statement of the window, µs.
    pub longest_us: u64,
    /// Statements that did not return the rows that were written.
    pub wrong: u64,
}

/// The parameters of a session.
#[derive(Clone, Debug)]
pub(crate) struct SessionOrder {
    pub session: u32,
    pub config: postgres::Config,
    pub version: Version,
    pub table: Table,
    /// Seed of the keys that it draws, in the range of setseed(): -1 to 1.
    pub seed: f64,
    /// Whether its backend is a process of this machine.
    pub is_local: bool,
}

/// Returns the text of the block. It draws its keys uniformly. `times` is the SQL expression of the
/// scheduler's times.
pub(crate) fn block(table: &Table, work_unit: u32, call: &Call, times: &str) -> String {
    let rows = i128::from(table.rows());
    let statement = table.statement("a", &format!("a + {work_unit} - 1"));
    let (statement_into, expected) = (
        statement.replacen(", count(*)", ", count(*) INTO s, c", 1),
        table.expected_sum("a", work_unit),
    );
    let (low, span) = (table.key_min, rows - i128::from(work_unit) + 1);
    let time = |seconds: f64| match seconds.is_finite() {
        true => format!("to_timestamp({seconds:.6})"),
        false => "'infinity'::timestamptz".to_owned(),
    };
    let (starts, ends, until) = (time(call.starts), time(call.ends), time(call.until));
    let sample_s = call.sample_s;
    format!(
        "DO $numalab$
DECLARE
  a bigint; s bigint; c bigint;
  statements bigint := 0; counted bigint := 0; wrong bigint := 0;
  now_t timestamptz := clock_timestamp(); before_t timestamptz;
  starts timestamptz := {starts}; ends timestamptz := {ends}; until timestamptz := {until};
  mark timestamptz := starts; began timestamptz; ended timestamptz;
  longest interval := '0'; step interval := make_interval(secs => {sample_s});
BEGIN
  LOOP
    a := {low} + floor(random() * {span})::bigint;
    {statement_into};
    IF c <> {work_unit} OR s <> {expected} THEN wrong := wrong + 1; END IF;
    statements := statements + 1;
    before_t := now_t;
    now_t := clock_timestamp();
    IF began IS NOT NULL AND ended IS NULL THEN
      counted := counted + 1;
      longest := greatest(longest, now_t - before_t);
    END IF;
    IF now_t >= mark THEN
      IF began IS NULL THEN
        began := now_t;
        RAISE NOTICE 'numalab begin %', {times};
      ELSIF now_t >= ends THEN
        ended := now_t;
        RAISE NOTICE 'numalab end %', {times};
      ELSE
        RAISE NOTICE 'numalab sample %', counted;
      END IF;
      mark := CASE WHEN ended IS NULL THEN least(now_t + step, ends) ELSE 'infinity' END;
    END IF;
    EXIT WHEN now_t >= until AND (began IS NULL OR ended IS NOT NULL);
  END LOOP;
  RAISE NOTICE 'numalab done % % % % %', statements, counted,
    coalesce(round(extract(epoch FROM ended - began) * 1000000), 0)::bigint,
    round(extract(epoch FROM longest) * 1000000)::bigint, wrong;
END $numalab$"
    )
}

/// The content of a notice.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Notice {
    Mark(Option<ScheduleTimes>),
    Sample(u64),
    Done(Done),
}

fn parse_notice(text: &str) -> Option<Notice> {
    let mut words = text.strip_prefix("numalab ")?.split_ascii_whitespace();
    let kind = words.next()?;
    let numbers: Option<Vec<u64>> = words.map(|word| word.parse().ok()).collect();
    match (kind, &numbers?[..]) {
        ("begin" | "end", []) => Some(Notice::Mark(None)),
        ("begin" | "end", [on_cpu_ns, run_queue_ns, _]) => {
            let (on_cpu_ns, run_queue_ns) = (*on_cpu_ns, *run_queue_ns);
            Some(Notice::Mark(Some(ScheduleTimes {
                on_cpu_ns,
                run_queue_ns,
            })))
        }
        ("sample", [statements]) => Some(Notice::Sample(*statements)),
        ("done", [statements, counted, window_us, longest_us, wrong]) => Some(Notice::Done(Done {
            statements: *statements,
            counted: *counted,
            window_us: *window_us,
            longest_us: *longest_us,
            wrong: *wrong,
        })),
        _ => None,
    }
}

/// Runs the thread of a session until its commands end.
pub(crate) fn run(order: SessionOrder, commands: Receiver<Command>, events: Sender<(u32, Event)>) {
    let session = order.session;
    if let Err(error) = serve(order, &commands, &events) {
        // The receiver is gone if the trial was given up.
        let _ = events.send((session, Event::Failed(error)));
    }
}

fn serve(
    order: SessionOrder,
    commands: &Receiver<Command>,
    events: &Sender<(u32, Event)>,
) -> Result<(), Error> {
    let SessionOrder {
        session,
        version,
        table,
        seed,
        is_local,
        mut config,
    } = order;
    let tell = |event| {
        let _ = events.send((session, event));
    };
    let notices = Arc::new(NoticeSink::default());
    let (hearer, sender) = (Arc::clone(&notices), events.clone());
    config.notice_callback(move |notice| hearer.take(notice.message(), session, &sender));
    let mut client = config
        .connect(NoTls)
        .map_err(Error::client("connecting to the server"))?;
    let pid = prepare(&mut client, seed)?;
    // The backend's own reading is exact. numalab's reading may be late, and misses a wait in
    // progress.
    let can_read = client
        .query_one(&format!("SELECT {OWN_TIMES}"), &[])
        .is_ok();
    let times = if can_read { OWN_TIMES } else { "''" };
    *notices.pid.lock().expect("no holder panics") = is_local.then_some(pid);
    let stop = client.cancel_token();
    tell(Event::Connected { pid, stop });
    let mut next = commands.recv().ok();
    while let Some(command) = next {
        match command {
            Command::WarmUp { work_unit } => {
                let begun = Instant::now();
                let until = seconds(SystemTime::now()) + SLICE_S;
                let infinite = f64::INFINITY;
                let call = Call {
                    starts: infinite,
                    ends: infinite,
                    until,
                    sample_s: 1.0,
                };
                let done = notices.call(&mut client, &block(&table, work_unit, &call, times))?;
                let statements_per_s = done.statements as f64 / begun.elapsed().as_secs_f64();
                tell(Event::Slice { statements_per_s });
                // Repeat unless there is another command.
                next = match commands.try_recv() {
                    Ok(command) => Some(command),
                    Err(TryRecvError::Empty) => Some(Command::WarmUp { work_unit }),
                    Err(TryRecvError::Disconnected) => None,
                };
                continue;
            }
            Command::Settle => {
                let own_hits = hand_in(&mut client, &version)?;
                tell(Event::Settled { own_hits });
            }
            Command::Measure { work_unit, call } => {
                let done = notices.call(&mut client, &block(&table, work_unit, &call, times))?;
                let own_hits = hand_in(&mut client, &version)?;
                tell(Event::Measured { done, own_hits });
            }
        }
        next = commands.recv().ok();
    }
    Ok(())
}

/// Applies the settings of a session; returns the PID of its backend.
fn prepare(client: &mut Client, seed: f64) -> Result<u32, Error> {
    let what = || Error::client("preparing the session");
    client.batch_execute(SETTINGS).map_err(what())?;
    let sql = "SELECT pg_backend_pid(), setseed($1) IS NULL";
    let pid: i32 = client.query_one(sql, &[&seed]).map_err(what())?.get(0);
    Ok(pid.unsigned_abs())
}

/// Converts a time to seconds since the epoch.
pub(crate) fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}

/// Collects the notices of a session.
#[derive(Default)]
struct NoticeSink {
    pid: Mutex<Option<u32>>,
    done: Mutex<Option<Done>>,
}

impl NoticeSink {
    /// Processes a notice, in the thread that reads from the server.
    fn take(&self, text: &str, session: u32, events: &Sender<(u32, Event)>) {
        let tell = |event| {
            let _ = events.send((session, event));
        };
        match parse_notice(text) {
            Some(Notice::Mark(Some(times))) => {
                let (read_at, times) = (None, Some(times));
                tell(Event::Mark(Mark { read_at, times }));
            }
            Some(Notice::Mark(None)) => {
                let pid = *self.pid.lock().expect("no holder panics");
                let times = pid.and_then(|pid| schedstat::of_process(&Root::live(), pid).ok());
                let read_at = Some(Instant::now());
                tell(Event::Mark(Mark { read_at, times }));
            }
            Some(Notice::Sample(statements)) => tell(Event::Sample { statements }),
            Some(Notice::Done(done)) => *self.done.lock().expect("no holder panics") = Some(done),
            None => {}
        }
    }

    /// Runs a block to its end.
    fn call(&self, client: &mut Client, block: &str) -> Result<Done, Error> {
        *self.done.lock().expect("no holder panics") = None;
        client
            .batch_execute(block)
            .map_err(Error::client("running the load"))?;
        let done = self.done.lock().expect("no holder panics").take();
        let done = done.ok_or_else(|| Error::Answer {
            what: "a call of the load",
            expected: "a notice of what it did".to_owned(),
            found: "none".to_owned(),
        })?;
        if done.wrong > 0 {
            return Err(Error::Answer {
                what: "the rows of the load",
                expected: "the rows that were written".to_owned(),
                found: format!(
                    "{} of {} statements with others",
                    done.wrong, done.statements
                ),
            });
        }
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use linux::schedstat::ScheduleTimes;

    use super::{Call, Done, Notice, block, parse_notice};
    use crate::tables::Table;

    #[test]
    fn notices_are_read() {
        let done = Done {
            statements: 10,
            counted: 8,
            window_us: 2_000_001,
            longest_us: 7,
            wrong: 0,
        };
        let check = |text: &str, expected| assert_eq!(parse_notice(text), expected, "{text}");
        let times = ScheduleTimes {
            on_cpu_ns: 7,
            run_queue_ns: 8,
        };
        check("numalab begin ", Some(Notice::Mark(None)));
        check("numalab end 7 8 9\n", Some(Notice::Mark(Some(times))));
        check("numalab end 7", None);
        check("numalab sample 5", Some(Notice::Sample(5)));
        check("numalab done 10 8 2000001 7 0", Some(Notice::Done(done)));
        check("numalab done 10 8 2000001 7", None);
        check("numalab sample -1", None);
        check("relation \"x\" already exists, skipping", None);
    }

    #[test]
    fn the_block_reads_the_work_unit_and_knows_its_sum() {
        let call = Call {
            starts: 1.5,
            ends: f64::INFINITY,
            until: 3.0,
            sample_s: 0.1,
        };
        let text = block(&Table::ours("s", 0, 100), 10, &call, "''");
        assert!(
            text.contains("SELECT sum(v), count(*) INTO s, c FROM \"s\".table_0"),
            "{text}"
        );
        assert!(text.contains("BETWEEN a AND a + 10 - 1"), "{text}");
        assert!(
            text.contains("a := 1 + floor(random() * 91)::bigint"),
            "{text}"
        );
        assert!(
            text.contains("starts timestamptz := to_timestamp(1.500000)"),
            "{text}"
        );
        assert!(text.contains("ends timestamptz := 'infinity'"), "{text}");
    }

    proptest! {
        #[test]
        fn no_notice_panics(text in "(numalab )?[a-z]{0,6}( [0-9-]{1,22}){0,6}") {
            parse_notice(&text);
        }
    }
}
