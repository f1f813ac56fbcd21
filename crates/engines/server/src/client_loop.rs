//! The loop of a call whose statements a client sends one by one, for databases that cannot loop
//! in the server.

use std::time::SystemTime;

use crate::session::seconds;
use crate::{Call, Done, Error, Listener, Mark};

/// Executes one call: `statement` executes one statement, and returns whether its rows were those
/// that were written. The times of the marks are those of `task`.
///
/// # Errors
/// That of `statement`.
pub fn repeat(
    call: &Call,
    listener: &Listener,
    task: Option<u32>,
    mut statement: impl FnMut() -> Result<bool, Error>,
) -> Result<Done, Error> {
    let now = || seconds(SystemTime::now());
    let mut done = Done::default();
    let (mut began, mut ended): (Option<f64>, Option<f64>) = (None, None);
    let (mut ended_last, mut mark_at, mut longest_s) = (now(), call.starts, 0.0_f64);
    loop {
        done.wrong += u64::from(!statement()?);
        done.statements += 1;
        let at = now();
        if began.is_some() && ended.is_none() {
            done.counted += 1;
            longest_s = longest_s.max(at - ended_last);
        }
        ended_last = at;
        if at >= mark_at {
            match began {
                None => {
                    began = Some(at);
                    listener.mark(Mark::of(task));
                }
                Some(_) if at >= call.ends => {
                    ended = Some(at);
                    listener.mark(Mark::of(task));
                }
                Some(_) => listener.sample(done.counted),
            }
            mark_at = match ended {
                None => (at + call.sample_s).min(call.ends),
                Some(_) => f64::INFINITY,
            };
        }
        if at >= call.until && (began.is_none() || ended.is_some()) {
            break;
        }
    }
    let window_s = began.zip(ended).map_or(0.0, |(began, ended)| ended - began);
    done.window_us = (window_s * 1e6).round() as u64;
    done.longest_us = (longest_s * 1e6).round() as u64;
    Ok(done)
}
