//! A page as far as it was read, by tags and text.

use std::mem;
use std::ops::Range;

use html5gum::StartTag;
use linux::{Error, TextFile};

use super::table::{Lines, Row, Table};
use crate::figure::ungrouped;
use crate::pieces::EXPECTED_REPORT;

/// The most cells in a row. Oracle's tables have about 20.
const CELLS_MAX: usize = 1000;

/// Elements that do not break a line of text.
const INLINE: [&str; 12] = [
    "a", "b", "big", "code", "em", "font", "i", "small", "span", "strong", "tt", "u",
];

/// Tables that a report has once, by their summaries: of two of them, one would be ignored.
const SINGLE: [&str; 3] = [
    "This table displays host information",
    "This table displays snapshot information",
    LOAD_PROFILE,
];

/// A table whose title must be there, since it ends the head of a report.
const LOAD_PROFILE: &str = "This table displays load profile";
/// A table by which the report of a whole cluster is known.
const INSTANCES: &str = "Database Instances Included In Report";

/// Elements whose text is not shown.
const HIDDEN: [&str; 3] = ["script", "style", "title"];

/// A table that has begun.
#[derive(Debug)]
struct Begun {
    line: usize,
    summary: String,
    table: Table,
    /// Where its lines begin.
    at: usize,
}

/// A table of `SINGLE` that was read.
#[derive(Debug)]
struct Seen {
    summary: String,
    line: usize,
    lines: Range<usize>,
}

/// A page as far as it was read.
#[derive(Debug)]
pub(super) struct Page<'f> {
    file: &'f TextFile,
    lines: Lines,
    /// The text of the current block or cell, and the line on which it begins.
    block: Option<(usize, String)>,
    /// The lines of `<html>` and `<pre>`, while they are open.
    html: Option<usize>,
    pre: Option<usize>,
    table: Option<Begun>,
    row: Option<Row>,
    is_in_cell: bool,
    /// Whether an element of `HIDDEN` is open.
    is_hidden: bool,
    /// Whether there was a table or preformatted text.
    has_rows: bool,
    /// Tables of `SINGLE` in the current report.
    seen: Vec<Seen>,
}

impl<'f> Page<'f> {
    pub(super) fn new(file: &'f TextFile) -> Self {
        Page {
            file,
            lines: Lines::new(),
            block: None,
            html: None,
            pre: None,
            table: None,
            row: None,
            is_in_cell: false,
            is_hidden: false,
            has_rows: false,
            seen: Vec::new(),
        }
    }

    pub(super) fn begin(&mut self, line: usize, tag: &StartTag<usize>) -> Result<(), Error> {
        match &*String::from_utf8_lossy(&tag.name) {
            "html" => self.html = self.html.or(Some(line)),
            "table" => {
                self.end_table()?;
                let summary = tag.attributes.get(b"summary".as_slice());
                let summary = summary.map(|it| String::from_utf8_lossy(it));
                self.begin_table(line, &summary.unwrap_or_default());
            }
            name if HIDDEN.contains(&name) => self.is_hidden = true,
            "tr" => self.begin_row(line),
            name @ ("td" | "th") => self.begin_cell(line, name == "th")?,
            name => self.tag_in_text(line, name, true),
        }
        Ok(())
    }

    pub(super) fn end(&mut self, line: usize, name: &str) -> Result<(), Error> {
        match name {
            "html" => {
                self.end_table()?;
                self.html = None;
            }
            "table" => self.end_table()?,
            "tr" => self.end_row(),
            "td" | "th" => self.end_cell(),
            name if HIDDEN.contains(&name) => self.is_hidden = false,
            name => self.tag_in_text(line, name, false),
        }
        Ok(())
    }

    /// Adds text to the current cell or block.
    pub(super) fn text(&mut self, line: usize, html: &str) {
        if self.is_hidden {
            return;
        }
        if self.pre.is_some() && !self.is_in_cell {
            let mut parts = html.split('\n').zip(line..).peekable();
            while let Some((part, line)) = parts.next() {
                self.add(line, part);
                if parts.peek().is_some() {
                    self.end_block();
                }
            }
            return;
        }
        let text = html.trim_start();
        if text.is_empty() && self.block.is_none() {
            return;
        }
        let skipped = &html[..html.len() - text.len()];
        let line = line + skipped.matches('\n').count();
        self.add(line, html);
    }

    fn add(&mut self, line: usize, html: &str) {
        let (_, text) = self.block.get_or_insert((line, String::new()));
        text.push_str(html);
    }

    /// A tag that is not a table's.
    fn tag_in_text(&mut self, line: usize, name: &str, begins: bool) {
        if INLINE.contains(&name) {
            return;
        }
        if self.is_in_cell {
            self.add(line, " ");
            return;
        }
        self.end_block();
        match (name, begins) {
            // The title of a report, which may have the same tables as the one before.
            ("h1", true) => self.seen.clear(),
            ("pre", true) => {
                self.pre = Some(line);
                self.has_rows = true;
            }
            ("pre", false) => self.pre = None,
            _ => {}
        }
    }

    /// Ends a block of text, which becomes a line.
    fn end_block(&mut self) {
        let Some((line, text)) = self.block.take() else {
            return;
        };
        if self.pre.is_some() {
            self.lines.push((line, text.trim_end().to_owned()));
            return;
        }
        let text = single_spaced(&text);
        if !text.is_empty() {
            self.lines.push((line, text));
        }
    }

    /// A table stands between empty lines, below its title.
    fn begin_table(&mut self, line: usize, summary: &str) {
        self.end_block();
        self.has_rows = true;
        let summary = single_spaced(summary);
        let titles = [(LOAD_PROFILE, "Load Profile"), (INSTANCES, INSTANCES)];
        let title = titles.iter().find(|(of, _)| summary.starts_with(of));
        if let Some((_, title)) = title {
            self.lines.push((line, (*title).to_owned()));
        }
        self.lines.push((line, String::new()));
        self.table = Some(Begun {
            line,
            summary,
            table: Table::default(),
            at: self.lines.len(),
        });
    }

    fn end_table(&mut self) -> Result<(), Error> {
        self.end_row();
        let Some(mut begun) = self.table.take() else {
            return Ok(());
        };
        mem::take(&mut begun.table).end(&mut self.lines);
        if SINGLE.contains(&begun.summary.as_str()) {
            self.check_single(&begun)?;
        }
        self.lines.push((begun.line, String::new()));
        Ok(())
    }

    /// Removes a table that repeats one of the same report.
    fn check_single(&mut self, begun: &Begun) -> Result<(), Error> {
        let lines = begun.at..self.lines.len();
        let mut seen = self.seen.iter();
        let Some(first) = seen.find(|seen| seen.summary == begun.summary) else {
            self.seen.push(Seen {
                summary: begun.summary.clone(),
                line: begun.line,
                lines,
            });
            return Ok(());
        };
        let texts = |lines: Range<usize>| self.lines[lines].iter().map(|(_, text)| text);
        if texts(first.lines.clone()).ne(texts(lines)) {
            let expected = format!("one table \"{}\" in a report", begun.summary);
            let found = format!("one that differs from that on line {}", first.line);
            return Err(self.file.unexpected(begun.line, expected, found));
        }
        self.lines.truncate(begun.at);
        Ok(())
    }

    fn begin_row(&mut self, line: usize) {
        self.end_row();
        self.row = Some(Row {
            line,
            cells: Vec::new(),
            is_heading: true,
        });
    }

    /// Ends a row; one outside of a table begins a table.
    fn end_row(&mut self) {
        self.end_cell();
        let Some(row) = self.row.take() else {
            return;
        };
        if self.table.is_none() {
            self.begin_table(row.line, "");
        }
        if let Some(begun) = &mut self.table {
            begun.table.add(row, &mut self.lines);
        }
    }

    fn begin_cell(&mut self, line: usize, is_heading: bool) -> Result<(), Error> {
        self.end_cell();
        if self.row.is_none() {
            self.begin_row(line);
        }
        if let Some(row) = &mut self.row {
            if row.cells.len() == CELLS_MAX {
                let expected = format!("at most {CELLS_MAX} cells in a row");
                return Err(self.file.unexpected(line, expected, "more"));
            }
            row.is_heading &= is_heading;
        }
        self.is_in_cell = true;
        Ok(())
    }

    /// Ends a cell, or the text before the first.
    fn end_cell(&mut self) {
        if !mem::take(&mut self.is_in_cell) {
            self.end_block();
            return;
        }
        let text = self.block.take().map_or(String::new(), |(_, text)| text);
        if let Some(row) = &mut self.row {
            let cell = single_spaced(&text);
            row.cells.push(ungrouped(&cell).unwrap_or(cell));
        }
    }

    /// Checks that the page was not cut off, and returns its lines.
    pub(super) fn finish(mut self) -> Result<Lines, Error> {
        let in_table = self.table.as_ref().map(|begun| begun.line);
        let in_row = self.row.as_ref().map(|row| row.line);
        let open = [
            ("html", self.html),
            ("table", in_table.or(in_row)),
            ("pre", self.pre),
        ];
        if let Some((name, Some(line))) = open.into_iter().find(|(_, line)| line.is_some()) {
            let expected = format!("\"</{name}>\" for the \"<{name}>\" on line {line}");
            return Err(self.file.ended(expected));
        }
        if self.block.is_some() {
            self.file.check_whole(self.file.text().lines().count())?;
        }
        self.end_block();
        if !self.has_rows {
            let found = "an HTML page without tables";
            return Err(self.file.unexpected(1, EXPECTED_REPORT, found));
        }
        Ok(self.lines)
    }
}

/// The words of a text, with a space between them.
fn single_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
