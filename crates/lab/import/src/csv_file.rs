//! Figures that others measured, as a table: a row for each trial, with its case and its figure.

use std::collections::BTreeSet;

use csv::StringRecord;
use linux::{Error, TextFile};

/// The most cases and rows of a file; more are an error in the choice of columns.
const CASES_MAX: usize = 100;
const ROWS_MAX: usize = 100_000;

/// The columns of the table that matter, by their names in its heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Columns {
    /// The name of the case.
    pub case: String,
    /// The figure.
    pub figure: String,
    /// The round: trials of different cases with the same one ran side by side. `None`: nothing is
    /// known of rounds.
    pub round: Option<String>,
    /// What stands between fields: a comma, a semicolon, a tab.
    pub separator: u8,
}

/// A case with its trials, in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct TableCase {
    /// Its name.
    pub name: String,
    /// The round and the figure of each trial; without rounds they are counted.
    pub trials: Vec<(u32, f64)>,
}

/// Reads the cases of a table, in the order in which they first appear (CSV, RFC 4180).
///
/// # Errors
/// When the heading lacks a column, or a row a case, a number above 0 or a round; names file, line
/// and expectation.
pub fn cases_of_table(file: &TextFile, columns: &Columns) -> Result<Vec<TableCase>, Error> {
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
    let case = column(file, &heading, &columns.case)?;
    let figure = column(file, &heading, &columns.figure)?;
    let round = columns.round.as_deref();
    let round = round.map(|name| column(file, &heading, name)).transpose()?;
    let mut table = Table {
        file,
        width: heading.len(),
        cases: Vec::new(),
        seen: BTreeSet::new(),
    };
    for (number, row) in records.enumerate() {
        let row = record(file, row)?;
        if number >= ROWS_MAX {
            let expected = format!("at most {ROWS_MAX} rows");
            return Err(file.unexpected(line(&row), expected, "more"));
        }
        table.add(&row, case, figure, round)?;
    }
    match table.cases.is_empty() {
        true => Err(file.ended("a row with a case and a figure")),
        false => Ok(table.cases),
    }
}

struct Table<'f> {
    file: &'f TextFile,
    width: usize,
    cases: Vec<TableCase>,
    /// The rounds of each case.
    seen: BTreeSet<(usize, u32)>,
}

impl Table<'_> {
    fn add(
        &mut self,
        row: &StringRecord,
        case: usize,
        figure: usize,
        round: Option<usize>,
    ) -> Result<(), Error> {
        let wrong =
            |expected: String, found: String| Err(self.file.unexpected(line(row), expected, found));
        if row.len() != self.width {
            let expected = format!("{} fields, as in the heading", self.width);
            return wrong(expected, row.len().to_string());
        }
        let name = row.get(case).unwrap_or_default();
        if name.is_empty() {
            return wrong("the name of a case".to_owned(), "an empty field".to_owned());
        }
        let cell = row.get(figure).unwrap_or_default();
        let value: Option<f64> = cell.parse().ok();
        let Some(value) = value.filter(|value| value.is_finite() && *value > 0.0) else {
            let expected = "a number above 0 with no unit and no separators (--unit names the \
                            unit; leave out the row of a trial that has none)";
            return wrong(expected.to_owned(), shown(cell));
        };
        let known = self.cases.iter().position(|it| it.name == name);
        if known.is_none() && self.cases.len() == CASES_MAX {
            return wrong(format!("at most {CASES_MAX} cases"), "more".to_owned());
        }
        let trials = known.map_or(0, |index| self.cases[index].trials.len());
        let round = match round.map(|column| row.get(column).unwrap_or_default()) {
            None => Some(trials as u32),
            Some(cell) => match cell.parse() {
                Ok(round) => Some(round),
                Err(_) => return wrong("the number of a round".to_owned(), shown(cell)),
            },
        };
        let index = known.unwrap_or(self.cases.len());
        let round = round.unwrap_or_default();
        if !self.seen.insert((index, round)) {
            let expected = format!("one trial of {} in round {round}", shown(name));
            return wrong(expected, "a second one".to_owned());
        }
        if known.is_none() {
            self.cases.push(TableCase {
                name: name.to_owned(),
                trials: Vec::new(),
            });
        }
        self.cases[index].trials.push((round, value));
        Ok(())
    }
}

fn record(file: &TextFile, row: csv::Result<StringRecord>) -> Result<StringRecord, Error> {
    row.map_err(|error| {
        let at = error.position().map_or(1, csv::Position::line);
        let at = usize::try_from(at).unwrap_or(usize::MAX);
        file.unexpected(at, "fields of text", error.to_string())
    })
}

fn column(file: &TextFile, heading: &StringRecord, name: &str) -> Result<usize, Error> {
    let mut places = heading.iter().enumerate().filter(|(_, it)| *it == name);
    match (places.next(), places.next()) {
        (Some((place, _)), None) => Ok(place),
        (Some(_), Some(_)) => {
            let expected = format!("one column {name:?} in the heading");
            Err(file.unexpected(1, expected, "two"))
        }
        (None, _) => {
            let names: Vec<String> = heading.iter().take(20).map(shown).collect();
            let expected = format!(
                "a column {name:?} in the heading (--separator, --case-column \
                                    and --figure-column choose others)"
            );
            Err(file.unexpected(1, expected, names.join(", ")))
        }
    }
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
            case: "case".to_owned(),
            figure: "tps".to_owned(),
            round: round.map(str::to_owned),
            separator: b',',
        }
    }

    fn read(text: &str, round: Option<&str>) -> Result<Vec<TableCase>, String> {
        let file = TextFile::new("figures.csv", text);
        cases_of_table(&file, &columns(round)).map_err(|error| error.to_string())
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
        refused(
            "case,tps,round\na,1,x\n",
            Some("round"),
            &["line 2", "number of a round"],
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
            let _ = (read(&text, None), read(&text, Some("round")));
        }
    }
}
