//! `numalab import csv`: stores figures that others measured as a run.

use clap::Args;
use import::{Columns, TableRun};
use linux::TextFile;
use model::exit::ExitCode;

use super::imported::{FILE_BYTES_MAX, Imported, baseline};
use crate::failure::Failure;
use crate::output;

/// What figures answer, where nothing else is said.
const QUESTION: &str = "Which case is best by the figures of this file?";

/// Options of `numalab import csv`.
#[derive(Debug, Args)]
pub(crate) struct ImportCsvArguments {
    /// The table, with a heading; each row is a trial, or each column a case.
    #[arg(value_name = "FILE")]
    pub file: String,
    /// Column with the name of the case [default: case].
    #[arg(long, value_name = "COLUMN")]
    pub case_column: Option<String>,
    /// Column with the figure of the trial, a number above 0 [default: figure].
    #[arg(long, value_name = "COLUMN")]
    pub figure_column: Option<String>,
    /// Columns that each have the figures of a case; the rows are rounds [default: all but that of
    /// rounds, of a table that has neither `case` nor `figure`].
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    #[arg(conflicts_with_all = ["case_column", "figure_column"])]
    pub case_columns: Vec<String>,
    /// Column with the number or name of the round; trials of one round ran side by side, and are
    /// compared in pairs.
    #[arg(long, value_name = "COLUMN")]
    pub round_column: Option<String>,
    /// What stands between fields: one character, or tab.
    #[arg(long, value_name = "C", default_value = ",", value_parser = separator)]
    pub separator: u8,
    /// Unit of the figures, as reports show it.
    #[arg(long, value_name = "UNIT", default_value = "reported")]
    pub unit: String,
    /// Lower figures are better.
    #[arg(long)]
    pub less_is_better: bool,
    /// Case to compare the others with [default: the first].
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,
    /// What the figures answer.
    #[arg(long, value_name = "TEXT", default_value = QUESTION)]
    pub question: String,
    /// Print JSON (numalab.import/1).
    #[arg(long)]
    pub json: bool,
}

/// Reads the file.
pub(super) fn read(arguments: &ImportCsvArguments) -> Result<Imported, Failure> {
    let file = &arguments.file;
    let usage = |message: String| Failure::new(ExitCode::Usage, message);
    let bytes = observed::read_named(file.as_ref(), FILE_BYTES_MAX)
        .map_err(|error| usage(format!("cannot read the table {file}: {error}")))?;
    let text = TextFile::new(file, String::from_utf8_lossy(&linux::plain_text(bytes)));
    let columns = Columns {
        case: arguments.case_column.clone(),
        figure: arguments.figure_column.clone(),
        round: arguments.round_column.clone(),
        cases: arguments.case_columns.clone(),
        separator: arguments.separator,
    };
    let table = import::cases_of_table(&text, &columns)
        .map_err(|error| usage(format!("cannot read the table: {error}")))?;
    let names: Vec<String> = table.cases.iter().map(|case| case.name.clone()).collect();
    if table.is_wide && arguments.case_columns.is_empty() {
        let names = names.join(", ");
        output::talk(&format!(
            "{file} has a column for each case ({names}); its rows are compared in pairs \
             (--case-columns chooses others)"
        ));
    }
    let baseline = baseline(arguments.baseline.as_deref(), names)?;
    let table = TableRun {
        file: file.clone(),
        table,
        question: arguments.question.clone(),
        unit: arguments.unit.clone(),
        more_is_better: !arguments.less_is_better,
    };
    Ok(Imported {
        of: Box::new(move |id, at| import::run_of_table(id, at, baseline, table)),
        trials: ("trial", "trials"),
        json: arguments.json,
    })
}

fn separator(text: &str) -> Result<u8, String> {
    match (text, text.as_bytes()) {
        ("tab" | "\\t", _) => Ok(b'\t'),
        (_, [byte]) if byte.is_ascii() && !b"\"\n\r".contains(byte) => Ok(*byte),
        _ => Err("expected one character such as ';', or tab".to_owned()),
    }
}
