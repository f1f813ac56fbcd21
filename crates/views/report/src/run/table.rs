//! A table with aligned columns. Cells are already plain text; colours do not count as width.

use std::iter;

use unicode_width::UnicodeWidthStr;

use crate::form::style::{Style, TextOptions};

/// Gap between two columns.
const GAP: &str = "  ";

/// The alignment of a text in its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// For text.
    Left,
    /// For numbers.
    Right,
}

/// Rows under titles.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    columns: Vec<(String, Side)>,
    rows: Vec<Vec<(String, Style)>>,
}

impl Table {
    /// Creates a table without rows.
    pub(crate) fn new(columns: &[(&str, Side)]) -> Self {
        let columns = columns.iter();
        Table {
            columns: columns
                .map(|(title, side)| ((*title).to_string(), *side))
                .collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row with one cell for each column.
    pub(crate) fn push(&mut self, cells: Vec<(String, Style)>) {
        assert_eq!(cells.len(), self.columns.len(), "a cell for each column");
        self.rows.push(cells);
    }

    /// Returns its width in columns, without trailing spaces.
    pub(crate) fn width(&self) -> usize {
        let widths = self.widths();
        widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1)
    }

    /// Formats titles, rule and rows.
    pub(crate) fn text(&self, options: &TextOptions) -> String {
        let widths = self.widths();
        let titles = self.columns.iter();
        let titles: Vec<_> = titles
            .map(|(title, _)| (title.clone(), Style::Usual))
            .collect();
        let rule = widths
            .iter()
            .map(|width| ("-".repeat(*width), Style::Usual));
        let rule: Vec<_> = rule.collect();
        let mut text = String::new();
        for row in [&titles, &rule].into_iter().chain(&self.rows) {
            let start = text.len();
            self.push_line(&mut text, row, &widths, options);
            text.truncate(start + text[start..].trim_end().len());
            text.push('\n');
        }
        text
    }

    fn widths(&self) -> Vec<usize> {
        let of_column = |index: usize| {
            let cells = self.rows.iter().map(|row| row[index].0.width());
            cells.max().unwrap_or(0)
        };
        let columns = self.columns.iter().enumerate();
        columns
            .map(|(index, (title, _))| title.width().max(of_column(index)))
            .collect()
    }

    fn push_line(
        &self,
        line: &mut String,
        row: &[(String, Style)],
        widths: &[usize],
        options: &TextOptions,
    ) {
        for (index, (text, style)) in row.iter().enumerate() {
            let pad = widths[index].saturating_sub(text.width());
            let pad = || iter::repeat_n(' ', pad);
            let text = options.paint(text, *style);
            if index > 0 {
                line.push_str(GAP);
            }
            match self.columns[index].1 {
                Side::Left => {
                    line.push_str(&text);
                    line.extend(pad());
                }
                Side::Right => {
                    line.extend(pad());
                    line.push_str(&text);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_by_what_a_terminal_shows() {
        let mut table = Table::new(&[("case", Side::Left), ("n", Side::Right)]);
        table.push(vec![
            ("字幕字".to_string(), Style::Usual),
            ("1".to_string(), Style::Good),
        ]);
        table.push(vec![
            ("a".to_string(), Style::Usual),
            ("1,000".to_string(), Style::Usual),
        ]);
        table.push(vec![
            (String::new(), Style::Usual),
            (String::new(), Style::Usual),
        ]);
        let mut options = TextOptions::default();
        let text = table.text(&options);
        assert_eq!(
            text,
            "case        n\n------  -----\n字幕字      1\na       1,000\n\n"
        );
        assert_eq!(table.width(), 13);
        options.color = true;
        assert!(
            table
                .text(&options)
                .contains("字幕字      \u{1b}[32m1\u{1b}[0m\n")
        );
    }
}
