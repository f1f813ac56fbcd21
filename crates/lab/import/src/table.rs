//! Tables with fixed columns: a line of headings, a line of dashes below it, and rows.
//!
//! ```text
//! Host Name        Platform                         CPUs Cores Sockets Memory(GB)
//! ---------------- -------------------------------- ---- ----- ------- ----------
//! dbserver         Linux x86 64-bit                  160    80       8    1009.30
//! ```
//!
//! Statspack underlines the first column with `~`.

use std::ops::Range;

use crate::pieces::Line;

/// The columns marked by a line of dashes, in characters; empty for any other line.
pub(crate) fn columns(line: &str) -> Vec<Range<usize>> {
    let mut columns: Vec<Range<usize>> = Vec::new();
    for (at, letter) in line.chars().enumerate() {
        match letter {
            '-' | '~' => match columns.last_mut() {
                Some(last) if last.end == at => last.end = at + 1,
                _ => columns.push(at..at + 1),
            },
            ' ' | '\t' => {}
            _ => return Vec::new(),
        }
    }
    columns
}

/// The text of a row within a column.
pub(crate) fn cell(row: &str, column: &Range<usize>) -> String {
    let letters = row.chars().skip(column.start).take(column.len());
    letters.collect::<String>().trim().to_owned()
}

/// The first row of every table, as headings with their cells; skips empty cells.
pub(crate) fn first_rows(lines: &[Line<'_>]) -> Vec<(usize, String, String)> {
    let mut found = Vec::new();
    for window in lines.windows(3) {
        let [(_, headings), (_, dashes), (number, row)] = window else {
            continue;
        };
        let columns = columns(dashes);
        if columns.len() < 2 || headings.trim().is_empty() {
            continue;
        }
        let cells = columns.iter().map(|column| {
            let (heading, value) = (cell(headings, column), cell(row, column));
            (*number, heading, value)
        });
        found.extend(cells.filter(|(_, heading, value)| !heading.is_empty() && !value.is_empty()));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_draw_columns() {
        assert_eq!(columns("--- ~~  -"), [0..3, 4..6, 8..9]);
        assert_eq!(columns("--- x"), Vec::<Range<usize>>::new());
        assert_eq!(columns(""), Vec::<Range<usize>>::new());
    }

    #[test]
    fn rows_are_cut_at_the_columns() {
        let lines = [
            (1, "Host Name  CPUs Cores"),
            (2, "---------- ---- -----"),
            (3, "my host     160      "),
        ];
        let expected = [
            (3, "Host Name".to_owned(), "my host".to_owned()),
            (3, "CPUs".to_owned(), "160".to_owned()),
        ];
        assert_eq!(first_rows(&lines), expected);
    }
}
