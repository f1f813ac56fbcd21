//! Reads the matrix of idle latencies from the text of Intel Memory Latency Checker, and ignores
//! everything else that it prints.
//!
//! ```text
//! Intel(R) Memory Latency Checker - v3.11b
//! *** Unable to modify prefetchers (try executing 'modprobe msr')
//! *** So, enabling random access for latency measurements
//! Measuring idle latencies for random access (in ns)...
//!                 Numa node
//! Numa node            0       1       2
//!        0         130.2   231.2   265.7
//!        1         238.2   130.1       -
//! ```
//!
//! Versions differ: the heading of the first line (see [`HEADINGS`]), `Memory node` and `Socket`
//! for `Numa node` before 3.1, tabs for spaces, empty lines between the rows. A node without CPUs
//! has a column but no row; a node without free memory has `-`.

use linux::{Error, TextFile};
use model::{MatrixCell, NodeId, NodeMatrix};

use super::matrix_words::{MatrixFile, cell_of_word, check_nodes, node_of_word, wrong_count};

/// The headings of the matrix, and what each says about its figures.
const HEADINGS: [(&str, Option<&str>); 3] = [
    ("Measuring idle latencies (in ns)...", None),
    (
        "Measuring idle latencies for random access (in ns)...",
        Some(
            "Intel MLC could not switch the prefetchers off and measured random access: its \
             figures include page walks and are not to be compared with those of sequential \
             access",
        ),
    ),
    (
        "Measuring idle latencies for sequential access (in ns)...",
        Some(
            "Intel MLC measured sequential access: its figures are not to be compared with those \
             of random access",
        ),
    ),
];

/// The common start of all headings.
const HEADING_START: &str = "Measuring idle latencies";

/// How the program names itself in its first line.
const PROGRAM: &str = "Intel(R) Memory Latency Checker";

/// Whether the file is text of Intel MLC.
pub(crate) fn is_mlc(file: &TextFile) -> bool {
    let is_mlc = |line: &str| line.starts_with(HEADING_START) || line.starts_with(PROGRAM);
    file.lines().any(|(_, line)| is_mlc(line.trim_start()))
}

/// Reads the matrix.
pub(crate) fn read(file: &TextFile) -> Result<MatrixFile, Error> {
    let is_heading = |line: &str| line.trim_start().starts_with(HEADING_START);
    let mut headings = file.lines().filter(|(_, line)| is_heading(line));
    let (at, heading) = headings
        .next()
        .ok_or_else(|| file.ended(format!("a line {:?}", HEADINGS[0].0)))?;
    if let Some((second, text)) = headings.next() {
        return Err(file.malformed(second, "one matrix of idle latencies", text.trim()));
    }
    let known = HEADINGS.iter().find(|(known, _)| *known == heading.trim());
    let (_, note) = known.ok_or_else(|| {
        let headings = HEADINGS.map(|(known, _)| format!("{known:?}")).join(" or ");
        file.malformed(at, headings, heading.trim())
    })?;
    let lines = file.lines().skip(at);
    let mut lines = lines.filter(|(_, line)| !line.trim().is_empty());
    let columns = columns(file, &mut lines)?;
    let (nodes, rows) = rows(file, &columns, lines)?;
    let matrix = NodeMatrix::new(nodes, columns, rows);
    Ok(MatrixFile {
        matrix: matrix.expect("every row was checked to have a cell for each column"),
        distances: None,
        note: note.map(str::to_owned),
        is_emulated: false,
    })
}

/// The nodes of the columns, from the two lines of headings.
fn columns<'t>(
    file: &TextFile,
    lines: &mut impl Iterator<Item = (usize, &'t str)>,
) -> Result<Vec<NodeId>, Error> {
    let above = "a line \"Numa node\" above the columns";
    let (number, line) = lines.next().ok_or_else(|| file.ended(above))?;
    if !["Numa node", "Memory node"].contains(&line.trim()) {
        return Err(file.malformed(number, above, line.trim()));
    }
    let expected = "the headings of the columns, such as \"Numa node 0 1\"";
    let (number, line) = lines.next().ok_or_else(|| file.ended(expected))?;
    let mut words = line.split_whitespace();
    let titles: Vec<&str> = words.by_ref().take_while(|word| *word == "Numa").collect();
    // `take_while` also consumed the word after "Numa", which is "node"; "Socket" is a single word.
    let starts_right = line.trim_start().starts_with("Numa node") || titles.is_empty();
    let nodes: Option<Vec<NodeId>> = words.map(node_of_word).collect();
    let nodes = nodes.filter(|nodes| !nodes.is_empty() && starts_right);
    let nodes = nodes.ok_or_else(|| file.malformed(number, expected, line.trim()))?;
    check_nodes(file, number, &nodes)?;
    Ok(nodes)
}

/// Reads a row from every line that begins with a number; the first other line ends the matrix.
fn rows<'t>(
    file: &TextFile,
    columns: &[NodeId],
    lines: impl Iterator<Item = (usize, &'t str)>,
) -> Result<(Vec<NodeId>, Vec<Vec<MatrixCell>>), Error> {
    let (mut nodes, mut rows) = (Vec::new(), Vec::new());
    let mut last = 0;
    for (number, line) in lines {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        let Some(node) = node_of_word(first) else {
            // A row of a node that no machine has is no end.
            if first.trim_end_matches(':').parse::<f64>().is_ok() {
                return Err(file.malformed(number, "a row with its node", first));
            }
            break;
        };
        let cells: Vec<&str> = words.collect();
        if cells.len() != columns.len() {
            return Err(wrong_count(file, number, columns.len(), cells.len()));
        }
        let cells = cells.iter().map(|word| cell_of_word(file, number, word));
        rows.push(cells.collect::<Result<_, _>>()?);
        nodes.push(node);
        last = number;
    }
    if nodes.is_empty() {
        return Err(file.ended("a row of latencies"));
    }
    check_nodes(file, last, &nodes)?;
    file.check_whole(last)?;
    Ok((nodes, rows))
}
