//! Figures that others measured, as a table: a row for each trial with its case and its figure, or
//! a column for each case with a figure for each row.

use std::collections::BTreeMap;

use csv::StringRecord;
use linux::{Error, TextFile};
use model::{FIGURES, counted};

/// The most cases and rows of a file; more are an error in the choice of columns.
const CASES_MAX: usize = 100;
const ROWS_MAX: usize = 100_000;

/// The columns of a row for each trial, where none are named.
const CASE: &str = "case";
const FIGURE: &str = "figure";

/// The columns of the table that matter, by their names in its heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    /// The name of the case; `None`: `case`, if the table has it or a column of figures is named.
    pub case: Option<String>,
    /// The figure; `None`: `figure`, likewise.
    pub figure: Option<String>,
    /// The round, a number or a name: trials of different cases with the same one ran side by side.
    /// `None`: nothing is known of rounds where a row is a trial.
    pub round: Option<String>,
    /// Columns that each have the figures of a case; a row is then a round. Empty: all but that of
    /// rounds, where the table has neither `case` nor `figure`.
    pub cases: Vec<String>,
    /// What stands between fields: a comma, a semicolon, a tab.
    pub separator: u8,
}

/// The cases of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// In the order in which they first appear.
    pub cases: Vec<TableCase>,
    /// Whether trials of one round ran side by side.
    pub in_rounds: bool,
    /// The names of the rounds from 0 on; empty where they are numbers.
    pub rounds: Vec<String>,
    /// Whether each case has a column.
    pub is_wide: bool,
}

/// A case with its trials, in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct TableCase {
    /// Its name.
    pub name: String,
    /// The round and the figure of each trial; without rounds they are counted.
    pub trials: Vec<(u32, f64)>,
}

/// Reads the cases of a table (CSV, RFC 4180).
///
/// # Errors
/// When the heading lacks a column, or a row a case, a number above 0 or a round; names file, line
/// and expectation.
pub fn cases_of_table(file: &TextFile, columns: &Columns) -> Result<Table, Error> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(columns.separator)
        .trim(csv::Trim::All)
        .from_reader(file.text().as_bytes());
    let mut records = reader.records();
    if let Some((last, _)) = file.lines().last() {
        file.check_whole(last)?;
    }
    let heading = match records.next() {
        Some(heading) => record(file, heading)?,
        None => return Err(file.ended("a heading with the names of the columns")),
    };
    let mut rows = Vec::new();
    for row in records {
        let row = record(file, row)?;
        if rows.len() == ROWS_MAX {
            let expected = format!("at most {ROWS_MAX} rows");
            return Err(file.unexpected(line(&row), expected, "more"));
        }
        if row.len() != heading.len() {
            let expected = format!("{}, as in the heading", counted(heading.len(), "field"));
            return Err(file.unexpected(line(&row), expected, row.len().to_string()));
        }
        rows.push(row);
    }
    let rows = Rows {
        file,
        heading,
        rows,
    };
    let table = match rows.is_wide(columns) {
        true => rows.columns_as_cases(columns)?,
        false => rows.rows_as_trials(columns)?,
    };
    match table.cases.iter().any(|case| !case.trials.is_empty()) {
        true => Ok(table),
        false => Err(file.ended("a row with a case and a figure")),
    }
}

/// A table that was read.
struct Rows<'f> {
    file: &'f TextFile,
    heading: StringRecord,
    rows: Vec<StringRecord>,
}

impl Rows<'_> {
    /// Whether each case has a column, because the user says so or because no column is that of
    /// cases or of figures.
    fn is_wide(&self, columns: &Columns) -> bool {
        let is_named = columns.case.is_some() || columns.figure.is_some();
        let has_usual = self.heading.iter().any(|it| it == CASE || it == FIGURE);
        !columns.cases.is_empty() || !(is_named || has_usual) && self.heading.len() > 1
    }

    fn rows_as_trials(&self, columns: &Columns) -> Result<Table, Error> {
        let case = self.column(columns.case.as_deref().unwrap_or(CASE))?;
        let figure = self.column(columns.figure.as_deref().unwrap_or(FIGURE))?;
        let round = columns.round.as_deref();
        let round = round.map(|name| self.column(name)).transpose()?;
        let (numbers, names) = match round {
            Some(column) => self.rounds(column)?,
            None => (Vec::new(), Vec::new()),
        };
        let mut cases: Vec<TableCase> = Vec::new();
        let mut seen: BTreeMap<(usize, u32), usize> = BTreeMap::new();
        for (index, row) in self.rows.iter().enumerate() {
            let name = row.get(case).unwrap_or_default();
            if name.is_empty() {
                return Err(self.wrong(row, "the name of a case", "an empty field"));
            }
            let value = self.figure(row, figure)?;
            let known = cases.iter().position(|it| it.name == name);
            let place = known.unwrap_or(cases.len());
            if place == CASES_MAX {
                return Err(self.wrong(row, &format!("at most {CASES_MAX} cases"), "more"));
            }
            if known.is_none() {
                cases.push(TableCase {
                    name: name.to_owned(),
                    trials: Vec::new(),
                });
            }
            let counted = cases[place].trials.len() as u32;
            let round = numbers.get(index).copied().unwrap_or(counted);
            if let Some(first) = seen.insert((place, round), line(row)) {
                let expected = format!("one trial of {} in a round", shown(name));
                let found = format!("a second one, after line {first}");
                return Err(self.wrong(row, &expected, &found));
            }
            cases[place].trials.push((round, value));
        }
        Ok(Table {
            cases,
            in_rounds: round.is_some(),
            rounds: names,
            is_wide: false,
        })
    }

    fn columns_as_cases(&self, columns: &Columns) -> Result<Table, Error> {
        let names: Option<usize> = match &columns.round {
            Some(name) => Some(self.column(name)?),
            None if columns.cases.is_empty() && self.names_rows(0) => Some(0),
            None => None,
        };
        let chosen: Vec<usize> = match columns.cases.as_slice() {
            [] => (0..self.heading.len()).collect(),
            cases => {
                let chosen = cases.iter().map(|name| self.column(name));
                chosen.collect::<Result<_, _>>()?
            }
        };
        let chosen = chosen.into_iter().filter(|column| Some(*column) != names);
        let mut cases = Vec::new();
        for column in chosen {
            let name = self.heading.get(column).unwrap_or_default();
            if name.is_empty() || cases.len() == CASES_MAX {
                let expected = format!("at most {CASES_MAX} columns, each with the name of a case");
                return Err(self.file.unexpected(1, expected, shown(name)));
            }
            // A name that stands twice is refused.
            self.column(name)?;
            if cases.iter().any(|case: &TableCase| case.name == name) {
                let expected = format!("column {} once", shown(name));
                return Err(self.file.unexpected(1, expected, "twice"));
            }
            let mut trials = Vec::new();
            for (row, round) in self.rows.iter().zip(0..) {
                // A test that one case did not run.
                if !row.get(column).unwrap_or_default().is_empty() {
                    trials.push((round, self.figure(row, column)?));
                }
            }
            cases.push(TableCase {
                name: name.to_owned(),
                trials,
            });
        }
        let name = |row: &StringRecord| row.get(names?).map(str::to_owned);
        Ok(Table {
            cases,
            in_rounds: true,
            rounds: self.rows.iter().filter_map(name).collect(),
            is_wide: true,
        })
    }

    /// Whether a column names rows: it has something else than figures, or counts.
    fn names_rows(&self, column: usize) -> bool {
        let cells = || {
            self.rows
                .iter()
                .map(|row| row.get(column).unwrap_or_default())
        };
        let is_figure = |cell: &str| cell.parse::<f64>().is_ok();
        let counts = |from: u32| cells().zip(from..).all(|(cell, at)| cell == at.to_string());
        !cells().all(is_figure) || counts(0) || counts(1)
    }

    /// The round of each row, and the names of the rounds if they are not numbers.
    fn rounds(&self, column: usize) -> Result<(Vec<u32>, Vec<String>), Error> {
        let cells = || {
            self.rows
                .iter()
                .map(|row| row.get(column).unwrap_or_default())
        };
        if let Some(row) = self.rows.iter().find(|row| row.get(column) == Some("")) {
            return Err(self.wrong(row, "the number or name of a round", "an empty field"));
        }
        if let Ok(numbers) = cells().map(str::parse).collect() {
            return Ok((numbers, Vec::new()));
        }
        let mut names: Vec<String> = Vec::new();
        let mut places: BTreeMap<&str, u32> = BTreeMap::new();
        let number = |cell| {
            *places.entry(cell).or_insert_with(|| {
                names.push(str::to_owned(cell));
                names.len() as u32 - 1
            })
        };
        let numbers = cells().map(number).collect();
        Ok((numbers, names))
    }

    fn figure(&self, row: &StringRecord, column: usize) -> Result<f64, Error> {
        let cell = row.get(column).unwrap_or_default();
        let value: Option<f64> = cell.parse().ok().filter(|value: &f64| value.is_finite());
        match value {
            Some(value) if FIGURES.contains(&value) => Ok(value),
            Some(value) if value > 0.0 => {
                let (least, most) = (FIGURES.start(), FIGURES.end());
                let expected = format!("a number from {least:e} to {most:e}");
                Err(self.wrong(row, &expected, &shown(cell)))
            }
            _ => {
                let name = self.heading.get(column).map_or_else(String::new, shown);
                let expected = format!(
                    "a number above 0 with no unit and no separators in column {name} (--unit \
                     names the unit; leave out a trial that has none; --case-columns, \
                     --figure-column and --round-column choose columns)"
                );
                Err(self.wrong(row, &expected, &shown(cell)))
            }
        }
    }

    fn column(&self, name: &str) -> Result<usize, Error> {
        let mut places = self.heading.iter().enumerate();
        let mut places = places.by_ref().filter(|(_, it)| *it == name);
        match (places.next(), places.next()) {
            (Some((place, _)), None) => Ok(place),
            (Some(_), Some(_)) => {
                let expected = format!("one column {name:?} in the heading");
                Err(self.file.unexpected(1, expected, "two"))
            }
            (None, _) => {
                let names: Vec<String> = self.heading.iter().take(20).map(shown).collect();
                let expected = format!(
                    "a column {name:?} in the heading (--separator, --case-column, \
                     --figure-column and --case-columns choose others)"
                );
                Err(self.file.unexpected(1, expected, names.join(", ")))
            }
        }
    }

    fn wrong(&self, row: &StringRecord, expected: &str, found: &str) -> Error {
        self.file.unexpected(line(row), expected, found)
    }
}

fn record(file: &TextFile, row: csv::Result<StringRecord>) -> Result<StringRecord, Error> {
    row.map_err(|error| {
        let at = error.position().map_or(1, csv::Position::line);
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        file.unexpected(at, "fields of text", error.to_string())
    })
}

fn line(row: &StringRecord) -> usize {
    let line = row.position().map_or(1, csv::Position::line);
    usize::try_from(line).unwrap_or(usize::MAX)
}

fn shown(cell: &str) -> String {
    let start: String = cell.chars().take(40).collect();
    format!("{start:?}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn columns(round: Option<&str>) -> Columns {
        Columns {
            case: None,
            figure: Some("tps".to_owned()),
            round: round.map(str::to_owned),
            cases: Vec::new(),
            separator: b',',
        }
    }

    fn read(text: &str, round: Option<&str>) -> Result<Vec<TableCase>, String> {
        let file = TextFile::new("figures.csv", text);
        let table = cases_of_table(&file, &columns(round)).map_err(|error| error.to_string())?;
        Ok(table.cases)
    }

    fn wide(text: &str, cases: &[&str], round: Option<&str>) -> Result<Table, String> {
        let columns = Columns {
            figure: None,
            cases: cases.iter().map(|it| (*it).to_owned()).collect(),
            ..columns(round)
        };
        cases_of_table(&TextFile::new("wide.csv", text), &columns).map_err(|it| it.to_string())
    }

    #[track_caller]
    fn refused(text: &str, round: Option<&str>, says: &[&str]) {
        let error = read(text, round).unwrap_err();
        for part in says {
            assert!(error.contains(part), "{part}: {error}");
        }
    }

    #[test]
    fn rows_become_trials_of_their_cases() {
        let text = "case,note,tps\nnear,\"a, b\",10\nfar,,8.5\nnear,x,1.1e1\n";
        let near = TableCase {
            name: "near".to_owned(),
            trials: vec![(0, 10.0), (1, 11.0)],
        };
        let far = TableCase {
            name: "far".to_owned(),
            trials: vec![(0, 8.5)],
        };
        assert_eq!(read(text, None).unwrap(), [near, far]);
        let text = "case,tps,round\nnear,10,3\nnear,9,1\n";
        let near = read(text, Some("round")).unwrap().remove(0);
        assert_eq!(near.trials, [(3, 10.0), (1, 9.0)]);
    }

    #[test]
    fn rounds_may_have_names() {
        let text = "case,tps,test\na,1,SET\nb,2,GET\na,3,GET\nb,4,SET\na,5,7\n";
        let cases = read(text, Some("test")).unwrap();
        assert_eq!(cases[0].trials, [(0, 1.0), (1, 3.0), (2, 5.0)]);
        assert_eq!(cases[1].trials, [(1, 2.0), (0, 4.0)]);
    }

    #[test]
    fn each_case_may_have_a_column() {
        let trials = |text: &str, cases: &[&str], round| {
            let table = wide(text, cases, round).unwrap();
            assert!(table.is_wide && table.in_rounds);
            let cases = table.cases.into_iter();
            let cases = cases.map(|case| (case.name, case.trials));
            (cases.collect::<Vec<_>>(), table.rounds)
        };
        let of = |name: &str, trials: &[(u32, f64)]| (name.to_owned(), trials.to_vec());
        let text = "command,old,new\nSET-10,2.5,3\nGET-10,,4\n";
        let (cases, rounds) = trials(text, &[], None);
        assert_eq!(
            cases,
            [of("old", &[(0, 2.5)]), of("new", &[(0, 3.0), (1, 4.0)])]
        );
        assert_eq!(rounds, ["SET-10", "GET-10"]);
        // A first column that counts names rows; one of figures is a case.
        let (cases, _) = trials("n,a,b\n1,5,6\n2,7,8\n", &[], None);
        assert_eq!(cases.len(), 2);
        let (cases, rounds) = trials("a,b\n5,6\n7,8\n", &[], None);
        assert_eq!((cases.len(), rounds.len()), (2, 0));
        let text = "case,a,b,note\nx,1,2,slow\n";
        let (cases, rounds) = trials(text, &["b", "a"], Some("case"));
        assert_eq!(cases, [of("b", &[(0, 2.0)]), of("a", &[(0, 1.0)])]);
        assert_eq!(rounds, ["x"]);
        for (text, says) in [
            ("t,a,b\nx,1,slow\n", "column \"b\""),
            ("t,a,a\nx,1,2\n", "one column \"a\""),
            ("t,a,\nx,1,2\n", "the name of a case"),
            ("t,a\nx,\n", "a row with a case"),
        ] {
            let error = wide(text, &[], None).unwrap_err();
            assert!(error.contains(says), "{says}: {error}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        refused("", None, &["figures.csv", "a heading"]);
        refused("case,tps\n", None, &["a row with a case"]);
        refused(
            "case;tps\na;1\n",
            None,
            &["line 1", "a column \"case\"", "case;tps"],
        );
        refused("case,tps,tps\na,1,2\n", None, &["one column \"tps\""]);
        refused("case,tps\na,1\nb\n", None, &["line 3", "2 fields"]);
        refused("case,tps\na,1\n,2\n", None, &["line 3", "name of a case"]);
        for cell in ["", "12 MiB/s", "\"1,234\"", "0", "-1", "NaN", "inf", "-"] {
            refused(
                &format!("case,tps\na,{cell}\n"),
                None,
                &["line 2", "a number above 0"],
            );
        }
        for cell in ["1e-308", "1e-151", "1e300"] {
            let text = format!("case,tps\na,{cell}\n");
            refused(
                &text,
                None,
                &["line 2", "a number from 1e-150 to 1e150", cell],
            );
        }
        refused(
            "case,tps,round\na,1,\n",
            Some("round"),
            &["line 2", "number or name of a round"],
        );
        refused(
            "case,tps,round\na,1,1\na,2,1\n",
            Some("round"),
            &["line 3", "a second one"],
        );
        let many: String = (0..=CASES_MAX).map(|case| format!("c{case},1\n")).collect();
        refused(&format!("case,tps\n{many}"), None, &["at most 100 cases"]);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(case,tps(,round)?\n)?[a,\"0-9.\n-]{0,60}") {
            let _ = (read(&text, None), read(&text, Some("round")), wide(&text, &[], None));
        }
    }
}
