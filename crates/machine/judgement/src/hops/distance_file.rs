//! The firmware's distances as text: our own topology document, the output of
//! `numactl --hardware`, or a table.

use linux::{Error, TextFile};
use model::{DistanceTable, NodeId, counted};
use serde::Deserialize;

use super::matrix_json;
use super::matrix_table;
use super::matrix_words::{check_nodes, is_json, node_of_word, wrong_count};

/// Name and version of the document.
const TOPOLOGY_FORMAT: &str = "numalab.topology/1";

/// The line of numactl above its table.
const NUMACTL_HEADING: &str = "node distances:";

/// What numactl prints where the kernel gives no distances.
const NUMACTL_NONE: &str = "No distance information available.";

#[derive(Deserialize)]
struct Topology {
    nodes: Vec<Node>,
    distances: Option<Vec<Vec<Option<u32>>>>,
}

#[derive(Deserialize)]
struct Node {
    id: NodeId,
}

/// Reads distances in any known form: a document `numalab.topology/1`; the text of
/// `numactl --hardware`, with any text around it; or a table of numbers with or without headings.
///
/// # Errors
/// When it has none of these forms, or lacks some or all distances; names file, line and what was
/// expected.
pub fn distances_of_file(file: &TextFile) -> Result<DistanceTable, Error> {
    if is_json(file) {
        return of_topology(file);
    }
    let heading = file
        .lines()
        .find(|(_, line)| line.trim() == NUMACTL_HEADING);
    if let Some((at, _)) = heading {
        return of_numactl(file, at);
    }
    if let Some((number, _)) = file.lines().find(|(_, line)| line.trim() == NUMACTL_NONE) {
        return Err(file.malformed(number, "distances", NUMACTL_NONE));
    }
    if file.lines().any(|(_, line)| is_of_numactl(line)) {
        return Err(file.ended(format!("a line {NUMACTL_HEADING:?}")));
    }
    of_table(file)
}

/// Whether a line is one that numactl prints before its distances.
fn is_of_numactl(line: &str) -> bool {
    let line = line.trim();
    let is_of_node = |end: &str| line.starts_with("node ") && line.contains(end);
    line.starts_with("available: ") || [" cpus:", " size: ", " free: "].into_iter().any(is_of_node)
}

fn of_topology(file: &TextFile) -> Result<DistanceTable, Error> {
    let topology: Topology = matrix_json::document(file, TOPOLOGY_FORMAT)?;
    let nodes: Vec<NodeId> = topology.nodes.iter().map(|node| node.id).collect();
    matrix_json::check_ids(file, &nodes)?;
    let rows = topology.distances;
    let rows = rows.ok_or_else(|| file.unexpected(1, "distances", "null"))?;
    let count = nodes.len();
    let found = rows.len();
    DistanceTable::of_parts(nodes.clone(), nodes, rows).ok_or_else(|| {
        let expected = format!(
            "a square of {}, one for each of nodes",
            counted(count, "row")
        );
        file.unexpected(1, expected, counted(found, "row"))
    })
}

/// The table below the heading:
///
/// ```text
/// node distances:
/// node   0   1
///   0:  10  21
///   1:  21  10
/// ```
fn of_numactl(file: &TextFile, heading: usize) -> Result<DistanceTable, Error> {
    let mut lines = file.lines().skip(heading);
    let expected = "the nodes of the columns, such as \"node 0 1\"";
    let (number, line) = lines.next().ok_or_else(|| file.ended(expected))?;
    let columns = line.trim().strip_prefix("node").map(str::split_whitespace);
    let columns: Option<Vec<NodeId>> = columns.and_then(|ids| ids.map(node_of_word).collect());
    let columns = columns.filter(|ids| !ids.is_empty());
    let columns = columns.ok_or_else(|| file.malformed(number, expected, line.trim()))?;
    check_nodes(file, number, &columns)?;
    let mut rows = Vec::with_capacity(columns.len());
    let mut last = number;
    for column in &columns {
        let expected = format!("the row of node {column}, such as \"{column}: 10\"");
        let (number, line) = lines.next().ok_or_else(|| file.ended(expected.clone()))?;
        let row = line.trim().split_once(':');
        let row = row.filter(|(node, _)| node_of_word(node.trim()) == Some(*column));
        let (_, row) = row.ok_or_else(|| file.malformed(number, expected, line.trim()))?;
        rows.push(distances(
            file,
            number,
            columns.len(),
            row.split_whitespace(),
        )?);
        last = number;
    }
    file.check_whole(last)?;
    Ok(DistanceTable::new(columns, rows).expect("every row was checked to be complete"))
}

fn of_table(file: &TextFile) -> Result<DistanceTable, Error> {
    let table = matrix_table::table(file)?;
    let width = table.column_nodes.len();
    let rows = table.rows.iter().map(|(number, words)| {
        let row = distances(file, *number, width, words.iter().copied())?;
        Ok(row.into_iter().map(Some).collect())
    });
    let rows = rows.collect::<Result<_, Error>>()?;
    let table = DistanceTable::of_parts(table.row_nodes, table.column_nodes, rows);
    Ok(table.expect("every row was checked to be complete"))
}

/// The distances of one row.
fn distances<'t>(
    file: &TextFile,
    number: usize,
    width: usize,
    words: impl Iterator<Item = &'t str>,
) -> Result<Vec<u32>, Error> {
    let distance = |word: &str| {
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        let distance = word.parse().ok().filter(|_| is_number);
        distance.ok_or_else(|| file.malformed(number, "a distance such as 10 or 21", word))
    };
    let row = words.map(distance).collect::<Result<Vec<u32>, Error>>()?;
    if row.len() != width {
        return Err(wrong_count(file, number, width, row.len()));
    }
    Ok(row)
}

#[cfg(test)]
mod tests {
    use linux::TextFile;
    use model::NodeId;
    use proptest::prelude::*;

    use super::distances_of_file;

    fn file(text: &str) -> TextFile {
        TextFile::new("distances.txt", text)
    }

    #[test]
    fn the_tables_of_the_articles_are_read() {
        let check = |text: &str, count: u32, sample: (u32, u32, u32)| {
            let table = distances_of_file(&file(text)).unwrap();
            let (from, to, distance) = sample;
            assert_eq!(table.cells().count(), (count * count) as usize);
            assert_eq!(table.distance(NodeId(from), NodeId(to)), Some(distance));
        };
        let article = include_str!("../../tests/hops/article-000-numactl-hardware.txt");
        check(article, 8, (6, 0, 22));
        check(article, 8, (2, 3, 13));
        let article = include_str!("../../tests/hops/article-002-numactl-hardware.txt");
        check(article, 4, (0, 3, 21));
    }

    #[test]
    fn documents_and_tables_are_read() {
        let document = r#"{"format": "numalab.topology/1", "nodes": [{"id": 0}, {"id": 8}],
            "distances": [[10, 40], [41, 10]], "cpus": "0-7"}"#;
        let table = distances_of_file(&file(document)).unwrap();
        assert_eq!(table.distance(NodeId(8), NodeId(0)), Some(41));
        for text in [
            "10 21\n21 10\n",
            "node,0,1\n0,10,21\n1,21,10\n",
            "0: 10 21\n1: 21 10\n",
        ] {
            let table = distances_of_file(&file(text)).unwrap();
            assert_eq!(table.distance(NodeId(1), NodeId(0)), Some(21), "{text}");
        }
    }

    fn check_error(text: &str, expected: &str) {
        let error = distances_of_file(&file(text)).unwrap_err();
        assert_eq!(error.to_string(), format!("distances.txt, line {expected}"));
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let cyclops = include_str!("../../tests/hops/article-004-numactl-hardware.txt");
        let lines = cyclops.lines().count();
        check_error(
            cyclops,
            &format!("{lines}: expected a line \"node distances:\", found the end of the file"),
        );
        check_error(
            "available: 1 nodes (0)\nNo distance information available.\n",
            "2: expected distances, found \"No distance information available.\"",
        );
        check_error(
            "node distances:\nnode 0 1\n0: 10 21\n",
            "3: expected the row of node 1, such as \"1: 10\", found the end of the file",
        );
        check_error(
            "node distances:\nnode 0 1\n0: 10 21\n1: 21\n",
            "4: expected 2 cells, found 1 cell",
        );
        check_error(
            "node distances:\nnode 0 1\n0: 10 21\n1: 21 -10\n",
            "4: expected a distance such as 10 or 21, found \"-10\"",
        );
        check_error(
            "node distances:\nnode 0 0\n",
            "2: expected every node once, found node 0 twice",
        );
        let numactl = "node distances:\nnode 0 1\n0: 10 21\n1: 21 1";
        let expected = "expected a line break at the end, without which the last figure may be \
                        cut off, found";
        check_error(numactl, &format!("4: {expected} \"1: 21 1\""));
        check_error("10 21\n21 1", &format!("2: {expected} \"21 1\""));
        check_error(
            "10 2.1\n",
            "1: expected a distance such as 10 or 21, found \"2.1\"",
        );
        check_error(
            r#"{"format": "numalab.topology/1", "nodes": [{"id": 0}], "distances": null}"#,
            "1: expected distances, found null",
        );
        check_error(
            r#"{"format": "numalab.topology/1", "nodes": [{"id": 0}], "distances": [[10, 20]]}"#,
            "1: expected a square of 1 row, one for each of nodes, found 1 row",
        );
        check_error(
            r#"{"format": "numalab.run/1"}"#,
            "1: expected a document numalab.topology/1, found \"numalab.run/1\"",
        );
        check_error(
            "",
            "1: expected a matrix of latencies, found the end of the file",
        );
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = distances_of_file(&file(&text));
        }

        #[test]
        fn no_text_like_numactl_panics(
            lines in prop::collection::vec(
                "(node distances:|node( +[0-9]{1,5}){0,4}| *[0-9]{1,5}:( +-?[0-9]{1,11}){0,4})?",
                0..7,
            ),
        ) {
            let _ = distances_of_file(&file(&lines.join("\n")));
        }
    }
}
