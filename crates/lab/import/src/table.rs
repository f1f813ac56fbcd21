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
        let headings = columns.iter().map(|column| cell(headings, column));
        let headings: Vec<String> = headings.collect();
        let values = match fits(row, &columns) {
            true => columns.iter().map(|column| cell(row, column)).collect(),
            false => shifted(row, &headings).unwrap_or_default(),
        };
        let cells = headings.into_iter().zip(values);
        let cells = cells.map(|(heading, value)| (*number, heading, value));
        found.extend(cells.filter(|(_, heading, value)| !heading.is_empty() && !value.is_empty()));
    }
    found
}

/// Whether a row keeps to the columns: nothing stands between them. A long name pushes what is
/// behind it to the right.
pub(crate) fn fits(row: &str, columns: &[Range<usize>]) -> bool {
    let is_between = |at: usize| {
        let mut pairs = columns.windows(2);
        pairs.any(|pair| (pair[0].end..pair[1].start).contains(&at))
    };
    let mut letters = row.chars().enumerate();
    letters.all(|(at, letter)| letter == ' ' || !is_between(at))
}

/// The cells of a row that does not keep to its columns, by its words; `None` where their number
/// leaves open which word is which.
fn shifted(row: &str, headings: &[String]) -> Option<Vec<String>> {
    let words: Vec<&str> = row.split_whitespace().collect();
    let others = headings.iter().filter_map(|heading| words_of(heading));
    let free = headings.iter().filter(|it| words_of(it).is_none()).count();
    let left = words.len().checked_sub(others.sum())?;
    if free > 1 || (free == 0) != (left == 0) {
        return None;
    }
    let mut words = words.into_iter();
    let cells = headings.iter().map(|heading| {
        let count = words_of(heading).unwrap_or(left);
        words.by_ref().take(count).collect::<Vec<_>>().join(" ")
    });
    Some(cells.collect())
}

/// The words of a cell below a heading; `None` where it may have any number.
fn words_of(heading: &str) -> Option<usize> {
    match heading {
        "Platform" => None,
        // `01-Jan-15 16:49`.
        "Startup Time" => Some(2),
        _ => Some(1),
    }
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

    #[test]
    fn long_names_do_not_shift_what_is_behind_them() {
        let cells = |row: &str| {
            let lines = [
                (
                    1,
                    "DB Name         DB Id    Instance     Inst Num Startup Time    Release",
                ),
                (
                    2,
                    "------------ ----------- ------------ -------- --------------- -----------",
                ),
                (3, row),
            ];
            let cells = first_rows(&lines).into_iter();
            cells
                .map(|(_, heading, value)| (heading, value))
                .collect::<Vec<_>>()
        };
        let found =
            cells("ORCL          1234567890 averylonginstance        1 01-Jan-15 16:49 11.2.0.4.0");
        let of = |name: &str| {
            let mut cells = found.iter().filter(|(heading, _)| heading == name);
            cells.next().map(|(_, value)| value.as_str())
        };
        assert_eq!(of("Instance"), Some("averylonginstance"));
        assert_eq!(of("Startup Time"), Some("01-Jan-15 16:49"));
        assert_eq!(of("Release"), Some("11.2.0.4.0"));
        // Without its start, nothing tells which word is which.
        let found = cells("ORCL          1234567890 averylonginstance        1 11.2.0.4.0");
        assert_eq!(found, []);
    }
}
