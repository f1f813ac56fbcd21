//! Whether a target is saturated: by that, one of two figures judges (docs/try.md).

use std::collections::BTreeMap;

use linux::schedstat::{self, ScheduleTimes};
use linux::{Root, affinity, proc_cpu_times, proc_stat};
use model::{CpuId, CpuSet, JudgedBy};

/// A thread, or a CPU, that was at work for this share of the time was never idle.
const NEVER_IDLE: f64 = 0.9;
/// Threads that were never idle did this share of the work of a saturated target; of CPUs that
/// were never idle, it has this share at least.
const SHARE_OF_SATURATED: f64 = 0.5;

/// What threads and CPUs have done so far.
#[derive(Clone, Debug, Default)]
pub struct Load {
    at_s: f64,
    threads: BTreeMap<u32, ScheduleTimes>,
    cpus: CpuSet,
    /// The limit of its CPU time, in CPUs.
    quota: Option<f64>,
    busy_s: BTreeMap<CpuId, f64>,
}

impl Load {
    /// Reads it for the threads of these processes. Threads that end meanwhile are left out, and
    /// what the kernel does not count is unknown.
    pub fn read(root: &Root, pids: &[u32], at_s: f64) -> Self {
        let mut load = Load {
            at_s,
            ..Load::default()
        };
        let threads = pids.iter().flat_map(|pid| proc_stat::threads(root, *pid));
        for tid in threads {
            // /proc has the files of a thread below its own id, too.
            if let Ok(times) = schedstat::of_process(root, tid) {
                load.threads.insert(tid, times);
            }
            if let Ok(cpus) = affinity::of_thread(tid) {
                load.cpus = load.cpus.union(&cpus);
            }
        }
        load.quota = pids.first().and_then(|pid| placement::limit_on(root, *pid));
        let times = proc_cpu_times::read(root).ok().flatten();
        load.busy_s = times.unwrap_or_default().busy_s;
        load
    }
}

/// By which figure to judge a target that did this between two looks, and why.
pub fn judge_by(before: &Load, after: &Load) -> (JudgedBy, String) {
    let seconds = after.at_s - before.at_s;
    let (mut all_ns, mut never_idle_ns) = (0, 0);
    for (tid, now) in &after.threads {
        let then = before.threads.get(tid).copied().unwrap_or_default();
        let ran_ns = now.on_cpu_ns.saturating_sub(then.on_cpu_ns);
        let waited_ns = now.run_queue_ns.saturating_sub(then.run_queue_ns);
        all_ns += ran_ns;
        if (ran_ns + waited_ns) as f64 >= NEVER_IDLE * seconds * 1e9 {
            never_idle_ns += ran_ns;
        }
    }
    let share = never_idle_ns as f64 / all_ns.max(1) as f64;
    if share >= SHARE_OF_SATURATED {
        let because = format!(
            "it is saturated: threads that were never idle used {:.0} % of its CPU time",
            share * 100.0
        );
        return (JudgedBy::Rate, because);
    }
    if let Some(quota) = after.quota
        && all_ns as f64 * 1e-9 >= NEVER_IDLE * quota * seconds
    {
        let because = format!(
            "it is saturated: it used {:.0} % of its CPU quota, which is {quota}",
            all_ns as f64 * 1e-7 / (quota * seconds).max(f64::MIN_POSITIVE)
        );
        return (JudgedBy::Rate, because);
    }
    let busy = after.cpus.iter().map(|cpu| {
        let [then, now] = [before, after].map(|load| load.busy_s.get(&cpu).copied());
        now.zip(then).map_or(0.0, |(now, then)| now - then)
    });
    let busy_s = busy.sum::<f64>();
    let own = all_ns as f64 * 1e-9 / busy_s.max(f64::MIN_POSITIVE);
    let busy = busy_s / (seconds * after.cpus.len() as f64).max(f64::MIN_POSITIVE);
    if busy >= NEVER_IDLE && own >= SHARE_OF_SATURATED {
        let because = format!(
            "it is saturated: the CPUs that it may use ({}) were {:.0} % busy, mostly with it",
            after.cpus,
            busy * 100.0
        );
        return (JudgedBy::Rate, because);
    }
    let because = format!(
        "it is not saturated, and does what its users ask for: threads that were never idle used \
         {:.0} % of its CPU time, and its CPUs were {:.0} % busy",
        share * 100.0,
        busy * 100.0
    );
    (JudgedBy::Cost, because)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After 10 s, threads with these seconds on a CPU and on its queue, and CPUs so busy.
    fn check(threads: &[(f64, f64)], busy_s: &[f64], expected: (JudgedBy, &str)) {
        check_with(None, threads, busy_s, expected);
    }

    /// The same with a quota.
    fn check_with(
        quota: Option<f64>,
        threads: &[(f64, f64)],
        busy_s: &[f64],
        expected: (JudgedBy, &str),
    ) {
        let ns = |seconds: f64| (seconds * 1e9) as u64;
        let times = |(ran, waited): &(f64, f64)| ScheduleTimes {
            on_cpu_ns: ns(*ran),
            run_queue_ns: ns(*waited),
        };
        let busy = busy_s.iter().enumerate();
        let busy_s: BTreeMap<CpuId, f64> = busy
            .map(|(cpu, seconds)| (CpuId(cpu as u32), *seconds))
            .collect();
        let before = Load {
            busy_s: busy_s.keys().map(|cpu| (*cpu, 0.0)).collect(),
            ..Load::default()
        };
        let after = Load {
            at_s: 10.0,
            threads: (1..).zip(threads.iter().map(times)).collect(),
            cpus: busy_s.keys().copied().collect(),
            quota,
            busy_s,
        };
        let (by, because) = judge_by(&before, &after);
        assert_eq!(by, expected.0, "{because}");
        assert!(because.contains(expected.1), "{because}");
    }

    #[test]
    fn a_target_is_saturated_when_threads_never_idle_or_its_cpus_are_busy() {
        let (cost, rate) = (JudgedBy::Cost, JudgedBy::Rate);
        check(
            &[(9.5, 0.1), (0.5, 0.0)],
            &[9.0, 0.5],
            (rate, "95 % of its CPU"),
        );
        // Two sessions share a CPU.
        check(
            &[(5.0, 4.9), (5.0, 4.8)],
            &[10.0, 0.0],
            (rate, "never idle used 100 %"),
        );
        check(
            &[(5.0, 0.5), (4.5, 0.5)],
            &[9.5, 9.0],
            (rate, "(0-1) were 92 % busy"),
        );
        check(&[(3.0, 0.5), (4.0, 0.5)], &[4.0, 4.0], (cost, "40 % busy"));
        // Others keep its CPUs busy.
        check(&[(0.5, 0.5); 2], &[10.0, 10.0], (cost, "100 % busy"));
        check(&[], &[], (cost, "0 % busy"));
        // Throttled, its threads are idle and its CPUs are free.
        let threads = [(7.2, 0.1); 2];
        check_with(
            Some(1.5),
            &threads,
            &[8.0, 8.0],
            (rate, "96 % of its CPU quota, which is 1.5"),
        );
        check_with(Some(4.0), &threads, &[8.0, 8.0], (cost, "80 % busy"));
    }
}
