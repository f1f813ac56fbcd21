//! One session: its connection, and its block of PL/pgSQL.
//!
//! The block is anonymous (`DO`), so nothing is created in the server for it. It reports its
//! results in notices, which the server sends at once.

use std::sync::{Arc, Mutex};

use linux::schedstat::ScheduleTimes;
use pglogin::Login;
use postgres::{Client, NoTls};
use server::{Call, Done, Error, Listener, Mark, Opener, Session};

use crate::counters::hand_in;
use crate::login::connect_with;
use crate::tables::Table;

use crate::Version;
use crate::error;

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

/// The parameters of a session.
#[derive(Clone)]
pub(crate) struct SessionOrder {
    pub login: Login,
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

impl SessionOrder {
    /// Returns what opens the session.
    pub(crate) fn opener(self) -> Opener {
        Box::new(move |listener| Ok(Box::new(Backend::open(self, listener)?)))
    }
}

/// An open session.
struct Backend {
    client: Client,
    notices: Arc<NoticeSink>,
    version: Version,
    table: Table,
    /// The SQL expression of the scheduler's times.
    times: &'static str,
    /// Its process, if that is on this machine.
    pid: Option<u32>,
}

impl Backend {
    fn open(order: SessionOrder, listener: Listener) -> Result<Self, Error> {
        let notices = Arc::new(NoticeSink::default());
        let hearer = Arc::clone(&notices);
        let listener = Arc::new(listener);
        let hear = |config: &mut postgres::Config| {
            let (hearer, listener) = (Arc::clone(&hearer), Arc::clone(&listener));
            config.notice_callback(move |notice| hearer.take(notice.message(), &listener));
        };
        let mut client =
            connect_with(&order.login, &hear).map_err(error::client("connecting to the server"))?;
        let pid = prepare(&mut client, order.seed)?;
        // The backend's own reading is exact. numalab's reading may be late, and misses a wait in
        // progress.
        let can_read = client
            .query_one(&format!("SELECT {OWN_TIMES}"), &[])
            .is_ok();
        let pid = order.is_local.then_some(pid);
        *notices.pid.lock().expect("no holder panics") = pid;
        Ok(Backend {
            client,
            notices,
            version: order.version,
            table: order.table,
            times: if can_read { OWN_TIMES } else { "''" },
            pid,
        })
    }
}

impl Session for Backend {
    fn task(&self) -> Option<u32> {
        self.pid
    }

    fn stop(&self) -> Box<dyn FnOnce() + Send> {
        let token = self.client.cancel_token();
        Box::new(move || {
            // If the server is gone, its queries have ended already.
            let _ = token.cancel_query(NoTls);
        })
    }

    fn call(&mut self, work_unit: u32, call: &Call) -> Result<Done, Error> {
        let block = block(&self.table, work_unit, call, self.times);
        self.notices.call(&mut self.client, &block)
    }

    fn hand_in(&mut self) -> Result<Option<u64>, Error> {
        hand_in(&mut self.client, &self.version)
    }
}

/// Applies the settings of a session; returns the PID of its backend.
fn prepare(client: &mut Client, seed: f64) -> Result<u32, Error> {
    let what = || error::client("preparing the session");
    client.batch_execute(SETTINGS).map_err(what())?;
    let sql = "SELECT pg_backend_pid(), setseed($1) IS NULL";
    let pid: i32 = client.query_one(sql, &[&seed]).map_err(what())?.get(0);
    Ok(pid.unsigned_abs())
}

/// Collects the notices of a session.
#[derive(Default)]
struct NoticeSink {
    pid: Mutex<Option<u32>>,
    done: Mutex<Option<Done>>,
}

impl NoticeSink {
    /// Processes a notice, in the thread that reads from the server.
    fn take(&self, text: &str, listener: &Listener) {
        match parse_notice(text) {
            Some(Notice::Mark(Some(times))) => {
                let (read_at, times) = (None, Some(times));
                listener.mark(Mark { read_at, times });
            }
            Some(Notice::Mark(None)) => {
                listener.mark(Mark::of(*self.pid.lock().expect("no holder panics")));
            }
            Some(Notice::Sample(statements)) => listener.sample(statements),
            Some(Notice::Done(done)) => *self.done.lock().expect("no holder panics") = Some(done),
            None => {}
        }
    }

    /// Runs a block to its end.
    fn call(&self, client: &mut Client, block: &str) -> Result<Done, Error> {
        *self.done.lock().expect("no holder panics") = None;
        client
            .batch_execute(block)
            .map_err(error::client("running the load"))?;
        let done = self.done.lock().expect("no holder panics").take();
        done.ok_or_else(|| Error::answer("a call of the load", "a notice of what it did", "none"))
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
