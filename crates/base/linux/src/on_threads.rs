//! Work on many things at once, on several threads. Nearly all of the time of an inspection is the
//! kernel's, which works for one thread at a time.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use rayon_core::{ThreadPool, ThreadPoolBuilder};

use crate::blocked_signals::BlockedSignals;

/// More threads get in one another's way in the kernel's file system.
const THREADS_MAX: usize = 16;

/// The result of `work` on each item, in order. A thread takes `at_once` items whenever it has
/// finished its last ones: as many as take it much longer than the tens of microseconds in which a
/// thread wakes up. Fewer than twice as many stay on the thread of the caller. The other threads
/// have the credentials, namespaces and CPUs of the thread that called this first.
pub fn map<T: Sync, R: Send>(items: &[T], at_once: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    match items.len() / at_once {
        0 | 1 => items.iter().map(work).collect(),
        parts => map_on(helpers(), parts - 1, items, at_once, work),
    }
}

static HELPERS: OnceLock<Option<ThreadPool>> = OnceLock::new();

/// How many threads help; they have blocked all signals.
pub(crate) fn helpers_started() -> usize {
    let helpers = HELPERS.get().and_then(Option::as_ref);
    helpers.map_or(0, ThreadPool::current_num_threads)
}

/// Threads that help the caller; none where there is one CPU, or no thread may be started. They
/// stay for the next time: the kernel may leave a new thread for milliseconds on the CPU of the
/// thread that started it.
fn helpers() -> Option<&'static ThreadPool> {
    let start = || {
        let usable = thread::available_parallelism().map_or(1, NonZero::get);
        match usable.min(THREADS_MAX) - 1 {
            0 => None,
            others => pool(others),
        }
    };
    HELPERS.get_or_init(start).as_ref()
}

fn pool(threads: usize) -> Option<ThreadPool> {
    let _signals = BlockedSignals::all();
    ThreadPoolBuilder::new().num_threads(threads).build().ok()
}

/// As [`map`], on the thread of the caller and at most so many of the helpers.
fn map_on<T: Sync, R: Send>(
    helpers: Option<&ThreadPool>,
    helpers_max: usize,
    items: &[T],
    at_once: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let Some(helpers) = helpers else {
        return items.iter().map(work).collect();
    };
    let parts: Vec<&[T]> = items.chunks(at_once).collect();
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let worker = || {
        let mut own = Vec::new();
        while let Some((at, part)) = take(&next, &parts) {
            own.push((at, part.iter().map(&work).collect::<Vec<R>>()));
        }
        done.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .append(&mut own);
    };
    helpers.in_place_scope(|scope| {
        for _ in 0..helpers.current_num_threads().min(helpers_max) {
            scope.spawn(|_| worker());
        }
        worker();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().flat_map(|(_, results)| results).collect()
}

/// The next part that no thread has taken, and which it is.
fn take<'a, T>(next: &AtomicUsize, parts: &[&'a [T]]) -> Option<(usize, &'a [T])> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    parts.get(at).map(|part| (at, *part))
}

#[cfg(test)]
mod tests {
    use std::sync::{Condvar, LazyLock, Mutex};
    use std::thread;
    use std::time::Duration;

    use proptest::prelude::*;
    use rayon_core::ThreadPool;

    use super::{map, map_on, pool};

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
        let helpers = pool(3);
        let helpers = helpers.as_ref();
        assert_eq!(map_on(helpers, 3, &[1, 2, 3, 4], 1, all_meet), [true; 4]);
        let own = thread::current().id();
        let threads = map(&[0; 63], 32, |_| thread::current().id());
        assert!(threads.iter().all(|thread| *thread == own));
        assert_eq!(map_on(None, 3, &[1, 2], 1, |item| item * 2), [2, 4]);
    }

    proptest! {
        #[test]
        fn every_item_is_worked_on_once_and_in_order(
            items in prop::collection::vec(0..1000_u32, 0..300),
            helpers_max in 0..20_usize,
            at_once in 1..50_usize,
        ) {
            static HELPERS: LazyLock<Option<ThreadPool>> = LazyLock::new(|| pool(5));
            let expected: Vec<u32> = items.iter().map(|item| item * 2).collect();
            let doubled = map_on(HELPERS.as_ref(), helpers_max, &items, at_once, |item| item * 2);
            prop_assert_eq!(doubled, expected);
        }
    }
}
