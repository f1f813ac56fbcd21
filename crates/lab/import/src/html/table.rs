//! Draws the rows of an HTML table as lines, as text reports have them.
//!
//! ```text
//! Host Name Platform         CPUs Cores
//! --------- ---------------- ---- -----
//! dbserver  Linux x86 64-bit 160  80
//! ```
//!
//! Only the first row stands below its headings: no table is read by columns beyond it, and a long
//! cell would make all rows as wide as itself.

/// Behind the first cell of a row, so that a name may end in a digit: white space that no text of a
/// report has.
pub(crate) const BEHIND_FIRST: char = '\u{2028}';

/// Lines with the numbers that they have in the file.
pub(crate) type Lines = Vec<(usize, String)>;

/// A row of a table.
#[derive(Debug, Default)]
pub(super) struct Row {
    /// The line on which it begins.
    pub(super) line: usize,
    /// Its cells, without references and with single spaces.
    pub(super) cells: Vec<String>,
    /// Whether all of them are headings.
    pub(super) is_heading: bool,
}

impl Row {
    fn joined(&self) -> String {
        let cells = self.cells.iter().map(String::as_str);
        let cells = cells.filter(|cell| !cell.is_empty());
        cells.collect::<Vec<_>>().join(" ")
    }

    /// The same with a mark behind the first cell.
    fn marked(&self) -> String {
        let joined = self.joined();
        let first = self.cells.first().filter(|cell| !cell.is_empty());
        let rest = first.and_then(|first| joined.strip_prefix(first.as_str()));
        match first.zip(rest) {
            Some((first, rest)) => format!("{first} {BEHIND_FIRST}{}", rest.trim_start()),
            None => joined,
        }
    }
}

/// A table of which some rows were read.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// Headings, until the first row below them.
    headings: Vec<Row>,
    is_below_headings: bool,
}

impl Table {
    /// Adds a row. Rows without text are left out: an empty line would end the table.
    pub(super) fn add(&mut self, row: Row, lines: &mut Lines) {
        if row.cells.iter().all(String::is_empty) {
            return;
        }
        if row.is_heading && !self.is_below_headings {
            self.headings.push(row);
            return;
        }
        let begins = !std::mem::replace(&mut self.is_below_headings, true);
        let headings = std::mem::take(&mut self.headings);
        match headings.split_last() {
            Some((names, above)) if begins => {
                for heading in above {
                    lines.push((heading.line, heading.joined()));
                }
                draw(names, &row, lines);
            }
            _ => lines.push((row.line, row.marked())),
        }
    }

    /// Ends the table.
    pub(super) fn end(self, lines: &mut Lines) {
        for heading in &self.headings {
            lines.push((heading.line, heading.joined()));
        }
    }
}

/// Draws the names of the columns, dashes, and the first row, one below the other.
fn draw(names: &Row, row: &Row, lines: &mut Lines) {
    let columns = names.cells.len().max(row.cells.len());
    let mut drawn = [String::new(), String::new(), String::new()];
    for column in 0..columns {
        let cell = |row: &Row| row.cells.get(column).cloned().unwrap_or_default();
        let (name, value) = (cell(names), cell(row));
        let width = name.chars().count().max(value.chars().count()).max(1);
        let dashes = "-".repeat(width);
        for (line, text) in drawn.iter_mut().zip([&name, &dashes, &value]) {
            // Padding by a format would panic above 65535 characters.
            let padding = 1 + width - text.chars().count();
            line.push_str(text);
            line.push_str(&" ".repeat(padding));
        }
    }
    for (number, line) in [names.line, names.line, row.line].into_iter().zip(&drawn) {
        lines.push((number, line.trim_end().to_owned()));
    }
}
