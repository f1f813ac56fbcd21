//! Rows of processes as a tree: each below its parent, siblings in their order.

use std::collections::BTreeMap;

use crate::subjects::Subject;

/// Bytes of a branch beyond which deeper levels are not indented.
const BRANCH_MAX: usize = 64;

/// Puts each row below that of its parent, if that is among them, with its branch.
pub(crate) fn as_tree(subjects: Vec<Subject>) -> Vec<Subject> {
    let id = |it: &Subject| it.processes.first().map(|process| process.pid);
    let rows = subjects.iter().enumerate();
    let index: BTreeMap<u32, usize> = rows.filter_map(|(at, it)| Some((id(it)?, at))).collect();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); subjects.len()];
    let mut roots = Vec::new();
    for (at, subject) in subjects.iter().enumerate() {
        let parent = subject.processes.first().and_then(|it| it.parent);
        match parent.and_then(|parent| index.get(&parent)) {
            Some(&parent) if parent != at => children[parent].push(at),
            _ => roots.push(at),
        }
    }
    let mut rows: Vec<Option<Subject>> = subjects.into_iter().map(Some).collect();
    let mut sorted = Vec::with_capacity(rows.len());
    // Parents are read one after the other, and may form a circle: what no root leads to is one.
    for root in roots.into_iter().chain(0..rows.len()) {
        let mut next = vec![(root, String::new(), String::new())];
        while let Some((at, branch, below)) = next.pop() {
            let Some(mut subject) = rows[at].take() else {
                continue;
            };
            subject.branch = branch;
            sorted.push(subject);
            let (inner, last) = match below.len() < BRANCH_MAX {
                true => (("├─", "│ "), ("└─", "  ")),
                false => (("", ""), ("", "")),
            };
            for (from_last, &child) in children[at].iter().rev().enumerate() {
                let (branch, beside) = if from_last == 0 { last } else { inner };
                next.push((
                    child,
                    format!("{below}{branch}"),
                    format!("{below}{beside}"),
                ));
            }
        }
    }
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moment::Moment;
    use crate::subjects::Kind;
    use live::History;
    use model::{ProcessSnapshot, Snapshot};
    use proptest::prelude::*;

    fn moment(parents: &[(u32, u32)]) -> Moment {
        let processes = parents.iter().map(|&(pid, parent)| ProcessSnapshot {
            pid,
            parent: Some(parent),
            name: pid.to_string(),
            ..ProcessSnapshot::default()
        });
        let mut history = History::default();
        history.push(Snapshot {
            processes: processes.collect(),
            ..Snapshot::default()
        });
        Moment::new(&history, None, Vec::new())
    }

    #[test]
    fn children_stand_below_their_parents() {
        let moment = moment(&[(1, 0), (2, 1), (3, 2), (4, 1), (5, 99), (6, 7), (7, 6)]);
        let rows = as_tree(Subject::all(&moment, Kind::Processes));
        let rows: Vec<String> = rows
            .iter()
            .map(|it| format!("{}{}", it.branch, it.name))
            .collect();
        assert_eq!(rows, ["1", "├─2", "│ └─3", "└─4", "5", "6", "└─7"]);
    }

    proptest! {
        #[test]
        fn every_row_stays(parents in prop::collection::vec(0..12_u32, 0..12)) {
            let parents: Vec<(u32, u32)> = (0..).zip(parents).collect();
            let moment = moment(&parents);
            let rows = as_tree(Subject::all(&moment, Kind::Processes));
            let mut pids: Vec<u32> = rows.iter().map(|it| it.processes[0].pid).collect();
            pids.sort_unstable();
            prop_assert!(pids.into_iter().eq(0..parents.len() as u32));
        }
    }
}
