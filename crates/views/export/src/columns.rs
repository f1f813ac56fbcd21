//! The columns: what each is called, its type, and what it holds of a trial.

use jiff::Timestamp;
use model::{Case, Outcome, Run, Trial};

/// A value of a row; `None` is null.
pub(crate) enum Cell {
    /// UTF-8.
    Text(Option<String>),
    /// A whole number.
    Whole(Option<i32>),
    /// Microseconds since 1970, UTC.
    Time(Option<i64>),
    /// A number.
    Number(Option<f64>),
    /// Yes or no.
    Truth(Option<bool>),
}

/// One trial, with what it belongs to.
pub(crate) struct Row<'r> {
    /// Its run.
    pub run: &'r Run,
    /// Its case.
    pub case: &'r Case,
    /// The trial.
    pub trial: &'r Trial,
}

/// A column.
pub(crate) struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type, as a message type of Parquet says it
    /// (github.com/apache/parquet-format, LogicalTypes.md).
    pub kind: &'static str,
    /// Its value.
    pub of: fn(&Row<'_>) -> Cell,
}

const fn column(name: &'static str, kind: &'static str, of: fn(&Row<'_>) -> Cell) -> Column {
    Column { name, kind, of }
}

const TEXT: &str = "binary {} (STRING)";
const TIME: &str = "int64 {} (TIMESTAMP(MICROS,true))";
const WHOLE: &str = "int32 {}";
const NUMBER: &str = "double {}";
const TRUTH: &str = "boolean {}";

/// All of them, in their order. One is never renamed; new ones come last.
pub(crate) const COLUMNS: [Column; 16] = [
    column("run", TEXT, |row| text(&row.run.id)),
    column("host", TEXT, |row| {
        Cell::Text(row.run.host().map(str::to_owned))
    }),
    column("experiment", TEXT, |row| text(&row.run.experiment)),
    column("started_at", TIME, |row| {
        Cell::Time(microseconds(&row.run.started_at))
    }),
    column("status", TEXT, |row| text(row.run.status.name())),
    column("emulated", TRUTH, |row| {
        Cell::Truth(row.run.machine.as_ref().and_then(|it| it.emulated))
    }),
    column("cpu_model", TEXT, |row| {
        let machine = row.run.machine.as_ref();
        Cell::Text(machine.and_then(|it| it.cpu_model.clone()))
    }),
    column("nodes", WHOLE, |row| {
        let nodes = row.run.topology().map(|it| it.nodes.len());
        Cell::Whole(nodes.and_then(|it| i32::try_from(it).ok()))
    }),
    column("metric", TEXT, |row| text(row.run.metric.name())),
    column("case", TEXT, |row| text(&row.case.plan.name)),
    column("is_baseline", TRUTH, |row| {
        Cell::Truth(Some(row.case.plan.name == row.run.baseline))
    }),
    column("round", WHOLE, |row| {
        Cell::Whole(i32::try_from(row.trial.round).ok())
    }),
    column("outcome", TEXT, |row| text(outcome(&row.trial.outcome).0)),
    column("reason", TEXT, |row| {
        Cell::Text(outcome(&row.trial.outcome).1.map(str::to_owned))
    }),
    column("value", NUMBER, |row| Cell::Number(row.trial.valid_value())),
    column("window_s", NUMBER, |row| Cell::Number(row.run.window_s)),
];

fn text(text: &str) -> Cell {
    Cell::Text(Some(text.to_owned()))
}

fn microseconds(rfc_3339: &str) -> Option<i64> {
    let time: Timestamp = rfc_3339.parse().ok()?;
    Some(time.as_microsecond())
}

/// Its name, and why.
fn outcome(outcome: &Outcome) -> (&'static str, Option<&str>) {
    match outcome {
        Outcome::Valid => ("valid", None),
        Outcome::Invalid(reason) => ("invalid", Some(reason)),
        Outcome::Failed(reason) => ("failed", Some(reason)),
    }
}
