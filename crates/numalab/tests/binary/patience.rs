//! Waits for something that other processes do: polls with a deadline, and never sleeps for as long
//! as it usually takes.

use std::time::{Duration, Instant};

use crate::unmet_need::is_counted;

/// Generous, because the machine may be busy; a test that passes never waits that long.
const WITHIN: Duration = Duration::from_secs(300);
/// The same where clocks count instructions, and skip what nobody works in.
const WITHIN_COUNTED: Duration = Duration::from_secs(3000);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Returns the answer of `look` as soon as it has one.
pub(crate) fn until<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    let within = match is_counted() {
        true => WITHIN_COUNTED,
        false => WITHIN,
    };
    until_within(within, look).unwrap_or_else(|| panic!("waited {within:?} for this: {what}"))
}

/// Returns the answer of `look` as soon as it has one; `None` if it has none within `within`.
pub(crate) fn until_within<T>(within: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + within;
    loop {
        if let Some(answer) = look() {
            return Some(answer);
        }
        if Instant::now() >= deadline {
            return None;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}
