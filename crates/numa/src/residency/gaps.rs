//! What could not be seen: one sentence each, and no more of them than a person reads.

use std::io::ErrorKind;

use linux::Error;

/// Sentences shown in full; what comes after is counted.
const SENTENCES_MAX: usize = 20;

/// What could not be seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Gaps {
    sentences: Vec<String>,
    more: usize,
    refused: usize,
}

impl Gaps {
    /// Adds a sentence, once.
    pub fn add(&mut self, sentence: impl Into<String>) {
        let sentence = sentence.into();
        if self.sentences.contains(&sentence) {
            return;
        }
        if self.sentences.len() == SENTENCES_MAX {
            self.more += 1;
        } else {
            self.sentences.push(sentence);
        }
    }

    /// Adds why a process could not be read.
    pub fn process(&mut self, pid: u32, error: &Error) {
        /// `ESRCH`: what reads of /proc/PID say after the process is gone (`errno(3)`).
        const NO_SUCH_PROCESS: i32 = 3;
        match error {
            Error::Read { cause, .. } if cause.kind() == ErrorKind::PermissionDenied => {
                self.refused += 1;
                self.add(format!("process {pid} may not be read by this user"));
            }
            Error::Read { cause, .. }
                if cause.kind() == ErrorKind::NotFound
                    || cause.raw_os_error() == Some(NO_SUCH_PROCESS) =>
            {
                self.add(format!(
                    "process {pid} ended while it was read, or was not captured"
                ));
            }
            other => self.add(format!("process {pid}: {other}")),
        }
    }

    /// Processes that this user may not read.
    pub fn refused(&self) -> usize {
        self.refused
    }

    /// Whether nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.sentences.is_empty()
    }

    /// The sentences.
    pub fn into_sentences(mut self) -> Vec<String> {
        if self.more > 0 {
            self.sentences
                .push(format!("{} more of the same kind", self.more));
        }
        self.sentences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_said_once_and_not_without_end() {
        let mut gaps = Gaps::default();
        for pid in 0..30 {
            for _ in 0..2 {
                let cause = std::io::Error::from_raw_os_error(13);
                gaps.process(
                    pid,
                    &Error::Read {
                        path: "/proc/1/maps".into(),
                        cause,
                    },
                );
            }
        }
        assert_eq!(gaps.refused(), 60);
        let sentences = gaps.into_sentences();
        assert_eq!(sentences.len(), SENTENCES_MAX + 1);
        assert_eq!(sentences[0], "process 0 may not be read by this user");
    }
}
