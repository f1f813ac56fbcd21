//! What the files of a machine leave open or contradict: one sentence for each kind, however many
//! nodes and CPUs it concerns.

use model::{Id, IdSet};

/// The longest list of ids in a sentence.
const LIST_CHARS_MAX: usize = 50;

/// The sentences so far.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    sentences: Vec<String>,
}

impl Gaps {
    /// Adds a sentence.
    pub(crate) fn add(&mut self, sentence: impl Into<String>) {
        self.sentences.push(sentence.into());
    }

    /// Adds what holds for some nodes, unless there are none: `nodes 0-1: memory unknown`.
    pub(crate) fn of_nodes<I: Id>(&mut self, nodes: &IdSet<I>, what: &str) {
        self.of("node", nodes, what);
    }

    /// Adds what holds for some CPUs, unless there are none.
    pub(crate) fn of_cpus<I: Id>(&mut self, cpus: &IdSet<I>, what: &str) {
        self.of("CPU", cpus, what);
    }

    fn of<I: Id>(&mut self, noun: &str, ids: &IdSet<I>, what: &str) {
        let list = ids.to_string();
        match ids.len() {
            0 => {}
            1 => self.add(format!("{noun} {list}: {what}")),
            _ if list.len() <= LIST_CHARS_MAX => self.add(format!("{noun}s {list}: {what}")),
            count => {
                let end = list[..LIST_CHARS_MAX].rfind(',').unwrap_or(0);
                self.add(format!("{count} {noun}s ({}, …): {what}", &list[..end]));
            }
        }
    }

    /// All sentences, in the order in which they were added.
    pub(crate) fn into_sentences(self) -> Vec<String> {
        self.sentences
    }
}

#[cfg(test)]
mod tests {
    use model::CpuSet;

    use super::*;

    #[test]
    fn a_sentence_names_whom_it_concerns_and_stays_short() {
        let check = |cpus: &CpuSet, expected: &[&str]| {
            let mut gaps = Gaps::default();
            gaps.of_cpus(cpus, "core unknown");
            assert_eq!(gaps.into_sentences(), expected);
        };
        let list = |text: &str| text.parse::<CpuSet>().unwrap();
        check(&list(""), &[]);
        check(&list("3"), &["CPU 3: core unknown"]);
        check(&list("3-4,9"), &["CPUs 3-4,9: core unknown"]);
        let even: CpuSet = (0..500).map(|cpu| model::CpuId(2 * cpu)).collect();
        check(
            &even,
            &["500 CPUs (0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34, …): core unknown"],
        );
    }
}
