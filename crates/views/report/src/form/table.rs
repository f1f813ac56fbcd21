//! A table, in text with aligned columns and in Markdown; crate `page` writes it as HTML. In text,
//! cells are already plain; colours do not count as width.

use std::iter;

use unicode_width::UnicodeWidthStr;

use crate::form::plain::markdown;
use crate::form::style::{Style, TextOptions};

/// Gap between two columns.
const GAP: &str = "  ";

/// The alignment of a text in its column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// For text.
    Left,
    /// For numbers.
    Right,
}

/// Rows under titles.
#[derive(Debug, Clone)]
pub struct Table {
    columns: Vec<(String, Side)>,
    rows: Vec<Vec<(String, Style)>>,
}

impl Table {
    /// Creates a table without rows, with titles as in `case|>trials`: those after `>` are of
    /// columns of numbers.
    pub fn of(titles: &str) -> Self {
        let columns = titles
            .split('|')
            .map(|title| match title.strip_prefix('>') {
                Some(number) => (number, Side::Right),
                None => (title, Side::Left),
            });
        Self::new(&columns.collect::<Vec<_>>())
    }

    /// Creates a table without rows, with titles that may have any characters.
    pub fn new(columns: &[(&str, Side)]) -> Self {
        let columns = columns.iter();
        Table {
            columns: columns
                .map(|(title, side)| ((*title).to_string(), *side))
                .collect(),
            rows: Vec::new(),
        }
    }

    /// Returns it with these rows.
    #[must_use]
    pub fn with(mut self, rows: impl IntoIterator<Item = Vec<String>>) -> Self {
        rows.into_iter().for_each(|cells| self.row(cells));
        self
    }

    /// Adds a row with one cell for each column.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells = cells.into_iter().map(|cell| (cell, Style::Usual));
        self.push(cells.collect());
    }

    /// The titles of columns with their sides.
    pub fn columns(&self) -> impl Iterator<Item = (&str, Side)> {
        self.columns.iter().map(|(title, side)| (&**title, *side))
    }

    /// The cells of each row.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = impl Iterator<Item = &str>> {
        let rows = self.rows.iter();
        rows.map(|cells| cells.iter().map(|(cell, _)| &**cell))
    }

    /// Adds a row with one cell for each column, each in its style.
    pub(crate) fn push(&mut self, cells: Vec<(String, Style)>) {
        assert_eq!(cells.len(), self.columns.len(), "a cell for each column");
        self.rows.push(cells);
    }

    /// Returns its width in columns, without trailing spaces.
    pub(crate) fn width(&self) -> usize {
        let widths = self.widths();
        widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1)
    }

    /// Formats it as Markdown (GitHub Flavored Markdown, 4.10).
    pub(crate) fn markdown(&self) -> String {
        let row = |cells: &mut dyn Iterator<Item = &str>| {
            let cells = cells.map(|cell| format!(" {} |", markdown(cell)));
            format!("|{}\n", cells.collect::<String>())
        };
        let sides = self.columns().map(|(_, side)| match side {
            Side::Left => "| --- ",
            Side::Right => "| ---: ",
        });
        let rule = format!("{}|\n", sides.collect::<String>());
        let titles = row(&mut self.columns().map(|(title, _)| title));
        let rows = self.rows().map(|mut cells| row(&mut cells));
        [titles, rule].into_iter().chain(rows).collect()
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
