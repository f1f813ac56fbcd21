//! What a metric is, before it has a value.

/// The type of a metric (Prometheus, "Exposition formats").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows, until the machine boots again.
    Counter,
    /// Goes up and down.
    Gauge,
}

impl Kind {
    /// Returns its name in a `# TYPE` line.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        }
    }
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Its name, with its base unit; that of a counter ends with `_total`.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// Names of its labels, in the order of their values.
    pub labels: &'static [&'static str],
    /// What it says.
    pub help: &'static str,
}
