//! One look at a target, and what a session may ask of it.

use model::TryEnd;

use crate::Error;

/// Work and CPU time at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// When, in seconds since the session began.
    pub at_s: f64,
    /// Units of work so far; `None` if the counter could not be read.
    pub work: Option<u64>,
    /// What is counted for the mix.
    pub mix: Option<u64>,
    /// CPU seconds of the target so far.
    pub cpu_s: f64,
}

/// Why a session cannot go on.
#[derive(Debug)]
pub enum Halt {
    /// It ends so, for this reason.
    End(TryEnd, String),
    /// Something failed.
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Halt {
    fn from(error: E) -> Self {
        Halt::Failed(error.into())
    }
}

/// What is tried upon: a running target, or a simulated one.
pub trait Subject {
    /// Seconds since the session began.
    fn now_s(&self) -> f64;

    /// Puts the target under a placement by its number; 0 is as it was found. Says what that took.
    ///
    /// # Errors
    /// When it cannot, or the session must end; whatever was changed is taken back at its end.
    fn put(&mut self, placement: usize) -> Result<(), Halt>;

    /// Waits until that moment and looks.
    ///
    /// # Errors
    /// When the session must end: the target has ended, another process interferes, or the user
    /// does.
    fn sample(&mut self, at_s: f64) -> Result<Sample, Halt>;

    /// Tells the user.
    fn say(&mut self, text: String);
}

/// Looks once a second for this long.
///
/// # Errors
/// As [`Subject::sample`].
pub fn observe(subject: &mut impl Subject, seconds: f64) -> Result<Vec<Sample>, Halt> {
    let begin_s = subject.now_s();
    let looks = seconds.ceil() as u32;
    (0..=looks)
        .map(|look| subject.sample(begin_s + f64::from(look)))
        .collect()
}
