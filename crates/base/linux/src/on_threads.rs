//! Work on many things at once, on several threads. Nearly all of the time of an inspection is the
//! kernel's, which works for one thread at a time.

use std::num::NonZero;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// More threads get in one another's way in the kernel's file system.
const THREADS_MAX: usize = 16;

/// The result of `work` on each item, in order. A thread takes `at_once` items whenever it has
/// finished its last ones: as many as take it much longer than the tens of microseconds in which a
/// thread starts. Fewer than twice as many stay on the thread of the caller.
pub fn map<T: Sync, R: Send>(items: &[T], at_once: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    /// To find it out takes files of control groups.
    static USABLE: OnceLock<usize> = OnceLock::new();
    let usable = match items.len() / at_once {
        0 | 1 => 1,
        _ => *USABLE.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get)),
    };
    map_on(usable.min(THREADS_MAX), items, at_once, work)
}

fn map_on<T: Sync, R: Send>(
    threads_max: usize,
    items: &[T],
    at_once: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let threads = threads_max.min(items.len() / at_once);
    if threads <= 1 {
        return items.iter().map(work).collect();
    }
    let parts: Vec<&[T]> = items.chunks(at_once).collect();
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(at) else {
                return done;
            };
            done.push((at, part.iter().map(&work).collect::<Vec<R>>()));
        }
    };
    let mut done = thread::scope(|scope| {
        let start = |_| thread::Builder::new().spawn_scoped(scope, worker).ok();
        // Where no more threads may be started, those that run do all.
        let others: Vec<_> = (1..threads).map_while(start).collect();
        let mut done = worker();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(why) => std::panic::resume_unwind(why),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().flat_map(|(_, results)| results).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::{Condvar, Mutex};
    use std::thread;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::map_on;

    #[test]
    fn many_items_are_worked_on_at_once_and_few_by_the_caller() {
        let (here, arrived) = (Mutex::new(0), Condvar::new());
        let all_meet = |_: &u32| {
            let mut count = here.lock().unwrap();
            *count += 1;
            arrived.notify_all();
            let patience = Duration::from_secs(60);
            let waited = arrived.wait_timeout_while(count, patience, |count| *count < 4);
            !waited.unwrap().1.timed_out()
        };
        assert_eq!(map_on(4, &[1, 2, 3, 4], 1, all_meet), [true; 4]);
        let own = thread::current().id();
        let threads = map_on(4, &[0; 63], 32, |_| thread::current().id());
        assert!(threads.iter().all(|thread| *thread == own));
        assert_eq!(map_on(0, &[1, 2], 1, |item| item * 2), [2, 4]);
    }

    proptest! {
        #[test]
        fn every_item_is_worked_on_once_and_in_order(
            items in prop::collection::vec(0..1000_u32, 0..300),
            threads in 0..20_usize,
            at_once in 1..50_usize,
        ) {
            let expected: Vec<u32> = items.iter().map(|item| item * 2).collect();
            prop_assert_eq!(map_on(threads, &items, at_once, |item| item * 2), expected);
        }
    }
}
