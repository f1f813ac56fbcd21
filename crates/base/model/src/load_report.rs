//! The contents of another program's report on one interval: Oracle's AWR or Statspack, as printed.
//! Figures missing from the report are `None`.

use serde::{Deserialize, Serialize};

/// A figure as printed, with its rounding error.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Printed {
    /// The figure.
    pub value: f64,
    /// Half a unit of its last digit: the true figure is within this distance of `value`.
    pub half_unit: f64,
}

/// The kind of a report, by its title.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReportKind {
    /// `WORKLOAD REPOSITORY report`.
    Awr,
    /// `STATSPACK report`.
    Statspack,
    /// Tables of either, without the title.
    Excerpt,
}

/// The report of one instance over one interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadReport {
    /// Its kind.
    pub kind: ReportKind,
    /// The file it was read from, as named by the user.
    pub file: String,
    /// Its first line in the file, from 1.
    pub line: usize,
    /// Database.
    pub database: Option<String>,
    /// Instance.
    pub instance: Option<String>,
    /// Release of Oracle.
    pub release: Option<String>,
    /// The host and its hardware.
    pub host: ReportHost,
    /// The interval.
    pub interval: ReportInterval,
    /// The load per second.
    pub profile: LoadProfile,
    /// DB time of the interval.
    pub db_time_s: Option<Printed>,
    /// CPU time of user sessions in the interval.
    pub db_cpu_s: Option<Printed>,
    /// The events that took the most time, except CPU time, as printed.
    pub events: Vec<ReportEvent>,
    /// Parameters that configure CPUs, memory and its placement, as name and value.
    pub parameters: Vec<(String, String)>,
    /// Contradictions between figures of the text, one sentence each.
    #[serde(default)]
    pub contradictions: Vec<String>,
}

/// The host of a report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportHost {
    /// Name.
    pub name: Option<String>,
    /// Operating system.
    pub platform: Option<String>,
    /// Logical CPUs.
    pub cpus: Option<u32>,
    /// Cores.
    pub cores: Option<u32>,
    /// Sockets.
    pub sockets: Option<u32>,
    /// Memory.
    pub memory_bytes: Option<u64>,
}

/// The interval of a report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReportInterval {
    /// Time of the first snapshot, as printed.
    pub begin: Option<String>,
    /// Time of the last snapshot, as printed.
    pub end: Option<String>,
    /// Time between them.
    pub elapsed_s: Option<Printed>,
}

/// The load profile, per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LoadProfile {
    /// DB time.
    pub db_time_per_s: Option<Printed>,
    /// CPU time of user sessions: the CPUs delivered to them.
    pub db_cpu_per_s: Option<Printed>,
    /// Logical reads, in blocks.
    pub logical_reads_per_s: Printed,
    /// Physical reads, in blocks.
    pub physical_reads_per_s: Option<Printed>,
}

/// One row of the table of top events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReportEvent {
    /// Name.
    pub name: String,
    /// Number of waits.
    pub waits: Option<u64>,
    /// Time in them.
    pub total_s: Option<Printed>,
    /// Share of DB time, from 0 to 1.
    pub share_of_db_time: Option<Printed>,
    /// Class of the event.
    pub class: Option<String>,
}

impl LoadReport {
    /// CPUs delivered to user sessions: DB CPU per second of the interval. Computed from the
    /// seconds of DB CPU and the interval where both are known, because they have more digits than
    /// the load profile; otherwise taken from the load profile.
    pub fn cpus_delivered(&self) -> Option<Printed> {
        let elapsed = self.interval.elapsed_s;
        let divided = match (self.db_cpu_s, elapsed) {
            (Some(cpu), Some(elapsed)) if elapsed.value > elapsed.half_unit => Some(Printed {
                value: cpu.value / elapsed.value,
                // The largest effect of both rounding errors, to first order.
                half_unit: cpu.half_unit / elapsed.value
                    + cpu.value * elapsed.half_unit / (elapsed.value * elapsed.value),
            }),
            _ => None,
        };
        divided.or(self.profile.db_cpu_per_s)
    }
}
