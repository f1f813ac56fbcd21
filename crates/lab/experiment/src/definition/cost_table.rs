//! A table of emulated costs, as a user writes it: `0 2000; 2000 0`.

use model::{EmulatedCost, NodeId};

/// The syntax, for messages.
pub const COST_EXPECTED: &str = "off, ns of a local and of a remote read such as \"0 2000\", or a \
                                 row for each node such as \"0 2000; 2000 0\", at most 1000000";

/// The costs, in ns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CostTable {
    /// Of a local and of a remote read.
    LocalRemote(u32, u32),
    /// A row for each node of a session, a column for each node of a block.
    Rows(Vec<Vec<u32>>),
}

impl CostTable {
    /// Reads a table; `Some(None)` is `off`.
    pub fn parse(text: &str) -> Option<Option<Self>> {
        /// A millisecond; costs of more are no reads of memory.
        const NS_MAX: u32 = 1_000_000;
        if text == "off" {
            return Some(None);
        }
        let number = |word: &str| word.parse().ok().filter(|ns| *ns <= NS_MAX);
        let row = |row: &str| {
            row.split_whitespace()
                .map(number)
                .collect::<Option<Vec<u32>>>()
        };
        let rows: Vec<Vec<u32>> = text.split(';').map(row).collect::<Option<_>>()?;
        Some(Some(match &rows[..] {
            [row] if row.len() == 2 => CostTable::LocalRemote(row[0], row[1]),
            rows if rows.iter().all(|row| row.len() == rows.len()) => {
                CostTable::Rows(rows.to_vec())
            }
            _ => return None,
        }))
    }

    /// The table of these nodes; `None` if it has a row for others or lacks one.
    pub(crate) fn of(&self, nodes: Vec<NodeId>) -> Option<EmulatedCost> {
        let ns = match self {
            CostTable::Rows(rows) if rows.len() != nodes.len() => return None,
            CostTable::Rows(rows) => rows.clone(),
            CostTable::LocalRemote(local, remote) => {
                let cost = |is_local| if is_local { *local } else { *remote };
                let row = |from: &NodeId| nodes.iter().map(|to| cost(from == to)).collect();
                nodes.iter().map(row).collect()
            }
        };
        Some(EmulatedCost { nodes, ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_row_for_each_node_or_two_costs() {
        let nodes = |count: u32| (0..count).map(NodeId).collect::<Vec<_>>();
        let ns = |text: &str, count| {
            let table = CostTable::parse(text).unwrap().unwrap();
            table.of(nodes(count)).map(|it| it.ns)
        };
        assert_eq!(ns("5 9", 2), Some(vec![vec![5, 9], vec![9, 5]]));
        assert_eq!(ns("5 9; 8 4", 2), Some(vec![vec![5, 9], vec![8, 4]]));
        assert_eq!(ns("5 9; 8 4", 3), None);
        assert_eq!(ns("7", 1), Some(vec![vec![7]]));
        assert_eq!(CostTable::parse("off"), Some(None));
        for text in [
            "",
            "1 2 3",
            "1 2; 3",
            "1;2",
            "a b",
            "-1 2",
            "0 1000001",
            "1 2;",
        ] {
            assert_eq!(CostTable::parse(text), None, "{text}");
        }
    }
}
