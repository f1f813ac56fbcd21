//! Counters of work on a thread of their own: a server that does not answer holds up nothing, and
//! one that has ended the connection is connected to again.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

use server::{WorkCounters, WorkDone};

use crate::Error;

/// An answer that takes longer is none; it may still come later, and is then of no use.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);
/// A first connection may take longer.
const CONNECT_WITHIN: Duration = Duration::from_secs(15);

type Opened = Result<Box<dyn WorkCounters>, String>;
type Answer = Result<WorkDone, String>;

/// Counters that are asked for on a thread.
pub struct Watched {
    /// One unit of work, in the singular.
    pub unit: &'static str,
    /// What is counted for the mix, in the plural.
    pub mix: Option<&'static str>,
    ask: Sender<()>,
    answers: Receiver<Answer>,
    /// Answers that came too late, and are still to come.
    owed: u32,
}

impl Watched {
    /// Opens counters by `open`, now and whenever they fail; `metric` names them.
    ///
    /// # Errors
    /// When they cannot be opened or read now.
    pub fn start(metric: &str, open: impl Fn() -> Opened + Send + 'static) -> Result<Self, Error> {
        let failed = |reason: String| Error::Counter {
            metric: metric.to_owned(),
            reason,
        };
        let (ask, asked) = channel();
        let (answer, answers) = channel();
        let (tell, told) = channel();
        let work = move || {
            let mut counters = open().and_then(|mut it| match it.read() {
                Ok(_) => Ok(it),
                Err(error) => Err(error.to_string()),
            });
            let words = counters.as_ref().map(|it| (it.unit(), it.mix()));
            if tell.send(words.map_err(String::clone)).is_err() {
                return;
            }
            while asked.recv().is_ok() {
                let read = counters.as_mut().map_err(|error| error.clone());
                let read = read.and_then(|it| it.read().map_err(|error| error.to_string()));
                if read.is_err() {
                    counters = open();
                }
                if answer.send(read).is_err() {
                    return;
                }
            }
        };
        let started = Builder::new().name("counters".to_owned()).spawn(work);
        started.map_err(|error| failed(error.to_string()))?;
        let silent = "no answer within 15 s".to_owned();
        let words = told.recv_timeout(CONNECT_WITHIN).unwrap_or(Err(silent));
        let (unit, mix) = words.map_err(failed)?;
        Ok(Watched {
            unit,
            mix,
            ask,
            answers,
            owed: 0,
        })
    }

    /// Reads them.
    ///
    /// # Errors
    /// Why they cannot be read now.
    pub fn read(&mut self) -> Answer {
        let silent = || Err("no answer within 3 s".to_owned());
        while self.owed > 0 {
            // The answer to an earlier question is old.
            match self.answers.try_recv() {
                Ok(_) => self.owed -= 1,
                Err(_) => return silent(),
            }
        }
        if self.ask.send(()).is_err() {
            return Err("the thread that reads them has ended".to_owned());
        }
        match self.answers.recv_timeout(ANSWER_WITHIN) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => {
                self.owed += 1;
                silent()
            }
            Err(RecvTimeoutError::Disconnected) => {
                Err("the thread that reads them has ended".to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use server::Error;

    use super::*;

    /// Fails at every third read, and then needs a new connection.
    struct Flaky {
        reads: Arc<AtomicU64>,
        is_broken: bool,
    }

    impl WorkCounters for Flaky {
        fn unit(&self) -> &'static str {
            "turn"
        }

        fn mix(&self) -> Option<&'static str> {
            None
        }

        fn read(&mut self) -> Result<WorkDone, Error> {
            let units = self.reads.fetch_add(1, Ordering::Relaxed);
            self.is_broken |= units % 3 == 2;
            match self.is_broken {
                true => Err(Error::io("reading")(std::io::Error::other("broken"))),
                false => Ok(WorkDone { units, mix: None }),
            }
        }
    }

    #[test]
    fn what_fails_is_opened_again() {
        let reads = Arc::new(AtomicU64::new(0));
        let open = {
            let reads = Arc::clone(&reads);
            move || {
                let reads = Arc::clone(&reads);
                let is_broken = false;
                Ok(Box::new(Flaky { reads, is_broken }) as Box<dyn WorkCounters>)
            }
        };
        let mut watched = Watched::start("flaky", open).unwrap();
        assert_eq!((watched.unit, watched.mix), ("turn", None));
        let read: Vec<Option<u64>> = (0..6)
            .map(|_| watched.read().ok().map(|done| done.units))
            .collect();
        // The first one, 0, was read at the start.
        assert_eq!(read, [Some(1), None, Some(3), Some(4), None, Some(6)]);
    }

    #[test]
    fn what_cannot_be_opened_is_named() {
        let refused = Watched::start("auto", || Err("nobody answers".to_owned()));
        let error = refused.err().unwrap().to_string();
        assert_eq!(error, "cannot read auto: nobody answers");
    }
}
