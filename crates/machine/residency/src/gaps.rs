//! What could not be seen: one sentence each, and no more than a person reads.

use std::collections::BTreeSet;
use std::io::ErrorKind;

use linux::{Error, Root};
use model::{ByteSize, ResidencyMethod, SegmentResidency};

/// Sentences shown in full; further ones are counted.
const SENTENCES_MAX: usize = 20;

/// What could not be seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Gaps {
    sentences: Vec<String>,
    more: usize,
    refused: usize,
    ended: BTreeSet<u32>,
    is_capture: bool,
}

impl Gaps {
    /// No gaps yet, for an inspection below `root`.
    pub(super) fn of(root: &Root) -> Self {
        Gaps {
            is_capture: !root.is_live(),
            ..Gaps::default()
        }
    }

    /// Adds a sentence, once.
    pub(super) fn add(&mut self, sentence: impl Into<String>) {
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
    pub(super) fn process(&mut self, pid: u32, error: &Error) {
        match error {
            Error::Read { cause, .. } if cause.kind() == ErrorKind::PermissionDenied => {
                self.refused += 1;
                self.add(format!("no permission to read process {pid}"));
            }
            error if error.is_gone() => match self.is_capture {
                true => self.add(format!("process {pid} was not captured")),
                false => self.ended(pid),
            },
            other => self.add(format!("process {pid}: {other}")),
        }
    }

    /// Adds that a process ended during the inspection.
    pub(super) fn ended(&mut self, pid: u32) {
        self.ended.insert(pid);
        self.add(format!("process {pid} ended during the inspection"));
    }

    /// Adds that a process runs on without the thread that shows its memory.
    pub(super) fn lacks_first_thread(&mut self, pid: u32) {
        self.add(format!(
            "the first thread of process {pid} has ended, and with it what /proc/{pid} shows of \
             its memory; its other threads run"
        ));
    }

    /// Adds how much of a segment was not found, and how much of that each node can hold at most.
    pub(super) fn unseen(&mut self, segment: &SegmentResidency, method: ResidencyMethod) {
        let (name, bytes) = (&segment.name, ByteSize(segment.bytes_without_node));
        let at_most = segment.unseen_at_most_by_node.as_ref().map(|at_most| {
            let parts = at_most.iter().filter(|(_, bytes)| **bytes > 0);
            let parts = parts.map(|(node, bytes)| format!("{} on node {node}", ByteSize(*bytes)));
            format!(
                "huge pages that no inspected process has mapped; by the use of the pools, at \
                 most {}",
                parts.collect::<Vec<_>>().join(", ")
            )
        });
        let bounds = segment
            .unseen_at_most_by_node
            .iter()
            .flat_map(|it| it.values());
        match (at_most, segment.bytes_without_node) {
            // Every page of the pools that is in use was found.
            (Some(_), 0) if bounds.sum::<u64>() == 0 => {}
            (Some(at_most), 0) => self.add(format!("of {name}, there may be more in {at_most}")),
            (Some(at_most), _) => self.add(format!("{bytes} of {name} are in {at_most}")),
            (None, 0) => {}
            (None, _) if method == ResidencyMethod::NumaMaps => {}
            (None, _) => self.add(format!(
                "{bytes} of {name} exist but were not found: swapped out, or changed during the \
                 inspection"
            )),
        }
    }

    /// Processes that ended during the inspection, as far as noticed.
    pub(super) fn noticed_ends(&self) -> &BTreeSet<u32> {
        &self.ended
    }

    /// Processes that this user may not read.
    pub(super) fn refused(&self) -> usize {
        self.refused
    }

    /// Whether nothing is missing.
    pub(super) fn is_empty(&self) -> bool {
        self.sentences.is_empty()
    }

    /// The sentences.
    pub(super) fn into_sentences(mut self) -> Vec<String> {
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
        assert_eq!(sentences[0], "no permission to read process 0");
    }
}
