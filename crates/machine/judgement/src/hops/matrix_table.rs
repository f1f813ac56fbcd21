//! A table of numbers between white space or commas, with or without headings, as people write them
//! down or other programs print them:
//!
//! ```text
//! 53 211 217 248          node   0    1          cpu_node,0,1
//! 211 53 248 217            0:  80  140          0,80.1,140.2
//! …                         1: 140   80          1,140.0,80.3
//! ```
//!
//! Without headings, rows and columns are nodes 0, 1, 2 and so on. Lines that begin with `#` are
//! ignored. A cell that was not measured is `-` or, between commas, empty.
//!
//! A matrix between CPUs looks the same except for its diagonal, which is empty or 0, and often its
//! upper half (as core-to-core-latency writes it). It says nothing about memory and is rejected:
//!
//! ```text
//! ,,
//! 45.3,,
//! 46.1,45.9,
//! ```

use linux::{Error, TextFile};
use model::{MatrixCell, NodeId, NodeMatrix, counted};

use super::matrix_words::{
    cell_of_word, cells as in_words, check_nodes, is_no_figure, node_of_word,
};

/// A line split into words.
struct Line<'t> {
    number: usize,
    text: &'t str,
    words: Vec<&'t str>,
}

/// The ids of rows and columns, and the words of the cells.
pub(crate) struct Table<'t> {
    pub(crate) row_nodes: Vec<NodeId>,
    pub(crate) column_nodes: Vec<NodeId>,
    /// For each row, the number of its line, and a word for each column.
    pub(crate) rows: Vec<(usize, Vec<&'t str>)>,
}

/// Reads a matrix.
pub(crate) fn read(file: &TextFile) -> Result<NodeMatrix, Error> {
    let table = table(file)?;
    check_not_between_cpus(file, &table)?;
    let row = |(number, words): &(usize, Vec<&str>)| {
        let cells = words.iter().map(|word| cell_of_word(file, *number, word));
        cells.collect::<Result<Vec<MatrixCell>, Error>>()
    };
    let rows = table.rows.iter().map(row).collect::<Result<_, _>>()?;
    let matrix = NodeMatrix::new(table.row_nodes, table.column_nodes, rows);
    Ok(matrix.expect("every row was checked to have a cell for each column"))
}

/// Splits a file into a table.
pub(crate) fn table(file: &TextFile) -> Result<Table<'_>, Error> {
    let lines = file.lines().map(|(number, line)| (number, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let mut lines: Vec<Line<'_>> = lines
        .map(|(number, line)| Line {
            number,
            text: line,
            words: words(line),
        })
        .collect();
    let Some(first) = lines.first() else {
        return Err(file.ended("a matrix of latencies"));
    };
    let Some(column_nodes) = column_headings(file, first, lines.get(1))? else {
        return without_column_headings(file, lines);
    };
    let heading = lines.remove(0);
    check_nodes(file, heading.number, &column_nodes)?;
    if lines.is_empty() {
        return Err(file.ended("a row of latencies"));
    }
    let mut row_nodes = Vec::with_capacity(lines.len());
    let mut rows = Vec::with_capacity(lines.len());
    for line in lines {
        let (node, cells) = with_row_heading(file, &line)?;
        push_row(file, &mut rows, column_nodes.len(), &line, cells)?;
        row_nodes.push(node);
    }
    checked(file, row_nodes, column_nodes, rows)
}

/// Checks that every node occurs once and that the file was not cut off.
fn checked<'t>(
    file: &TextFile,
    row_nodes: Vec<NodeId>,
    column_nodes: Vec<NodeId>,
    rows: Vec<(usize, Vec<&'t str>)>,
) -> Result<Table<'t>, Error> {
    if let Some((last, _)) = rows.last() {
        check_nodes(file, *last, &row_nodes)?;
        check_nodes(file, *last, &column_nodes)?;
        file.check_whole(*last)?;
    }
    Ok(Table {
        row_nodes,
        column_nodes,
        rows,
    })
}

/// Rejects a matrix between CPUs: as many rows as columns, and no figure from any to itself.
fn check_not_between_cpus(file: &TextFile, table: &Table<'_>) -> Result<(), Error> {
    let columns = &table.column_nodes;
    let mut own = table.row_nodes.iter().zip(&table.rows).map(|(node, row)| {
        let column = columns.iter().position(|column| column == node)?;
        let word = row.1[column];
        Some(is_no_figure(word) || word.parse() == Ok(0.0))
    });
    let is_between_cpus = table.rows.len() == columns.len()
        && table.rows.len() > 1
        && own.all(|has_none| has_none == Some(true));
    if !is_between_cpus {
        return Ok(());
    }
    let (number, _) = table.rows[0];
    let line = file.lines().nth(number - 1).map_or("", |(_, line)| line);
    let expected = "latencies of memory, a node's own too (without these it is a matrix between \
                    CPUs, as core-to-core-latency writes it)";
    Err(file.malformed(number, expected, line.trim()))
}

/// Splits at commas, if there are any, else at white space.
fn words(line: &str) -> Vec<&str> {
    if line.contains(',') {
        line.split(',').map(str::trim).collect()
    } else {
        line.split_whitespace().collect()
    }
}

/// The nodes of the columns, if the first line has them: it begins with a word, or has one cell
/// less than the second line, which begins with one of these nodes.
fn column_headings(
    file: &TextFile,
    first: &Line<'_>,
    second: Option<&Line<'_>>,
) -> Result<Option<Vec<NodeId>>, Error> {
    let corner = first.words[0];
    let is_word = corner.parse::<f64>().is_err()
        && !corner.ends_with(':')
        && (corner.is_empty() || !is_no_figure(corner));
    let is_short = second.is_some_and(|second| second.words.len() == first.words.len() + 1);
    let nodes = |words: &[&str]| -> Option<Vec<NodeId>> {
        let nodes: Option<Vec<NodeId>> = words.iter().map(|word| node_of_word(word)).collect();
        nodes.filter(|nodes| !nodes.is_empty())
    };
    // A word such as node0 may be the first heading rather than the corner.
    let whole = nodes(&first.words).filter(|_| is_short);
    if is_word {
        let headings = whole.or_else(|| nodes(&first.words[1..]));
        if headings.is_none() && corner.is_empty() {
            // A row without its first figure.
            return Ok(None);
        }
        return headings.map(Some).ok_or_else(|| {
            let expected = "a row of latencies, or the nodes of the columns";
            file.malformed(first.number, expected, first.text)
        });
    }
    // Numbers are headings only if the next line begins with one of them; else a cell is missing.
    let begins = second.and_then(|second| node_of_word(second.words[0]));
    Ok(whole.filter(|nodes| begins.is_some_and(|node| nodes.contains(&node))))
}

/// The node that a line begins with, and its cells.
fn with_row_heading<'l, 't>(
    file: &TextFile,
    line: &'l Line<'t>,
) -> Result<(NodeId, &'l [&'t str]), Error> {
    let (heading, cells) = line.words.split_first().unwrap_or((&"", &[]));
    // `node 3:` is two words, as is `0 :`.
    let (heading, cells) = match cells.split_first() {
        Some((next, rest)) if heading.eq_ignore_ascii_case("node") => (next, rest),
        Some((&":", rest)) => (heading, rest),
        _ => (heading, cells),
    };
    let node = node_of_word(heading);
    let node = node.ok_or_else(|| file.malformed(line.number, "a row with its node", heading))?;
    Ok((node, cells))
}

/// A table without column headings, whose rows may begin with `0:`.
fn without_column_headings<'t>(file: &TextFile, lines: Vec<Line<'t>>) -> Result<Table<'t>, Error> {
    let is_headed = |line: &Line<'_>| line.words[0].ends_with(':');
    let headed = lines.first().is_some_and(is_headed);
    let (mut row_nodes, mut rows) = (Vec::with_capacity(lines.len()), Vec::new());
    let mut width = None;
    for (index, line) in lines.iter().enumerate() {
        let implied = NodeId(u32::try_from(index).unwrap_or(u32::MAX));
        let (node, cells) = if headed {
            with_row_heading(file, line)?
        } else {
            (implied, &line.words[..])
        };
        let width = *width.get_or_insert(cells.len());
        push_row(file, &mut rows, width, line, cells)?;
        row_nodes.push(node);
    }
    let width = width.unwrap_or(0);
    let last = rows.last().map_or(1, |(number, _)| *number);
    if !headed && rows.len() > width {
        let expected = format!("at most {width} rows, as many as columns, or headings");
        return Err(file.unexpected(last, expected, counted(rows.len(), "row")));
    }
    let column_nodes = (0..width).map(|index| NodeId(u32::try_from(index).unwrap_or(u32::MAX)));
    let column_nodes: Vec<NodeId> = column_nodes.collect();
    checked(file, row_nodes, column_nodes, rows)
}

fn push_row<'t>(
    file: &TextFile,
    rows: &mut Vec<(usize, Vec<&'t str>)>,
    width: usize,
    line: &Line<'t>,
    cells: &[&'t str],
) -> Result<(), Error> {
    if cells.len() != width {
        let expected = format!("{}, not {}", in_words(width), in_words(cells.len()));
        return Err(file.malformed(line.number, expected, line.text));
    }
    rows.push((line.number, cells.to_vec()));
    Ok(())
}
