//! What another program's report says of one interval: Oracle's AWR or Statspack, as it was
//! printed. What the report does not say is `None`.

use serde::{Deserialize, Serialize};

/// A figure as it was printed, with what its last digit leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Printed {
    /// The figure.
    pub value: f64,
    /// Half a unit of its last digit: the true figure lies within so much of `value`.
    pub half_unit: f64,
}

/// What a report calls itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReportKind {
    /// `WORKLOAD REPOSITORY report`.
    Awr,
    /// `STATSPACK report`.
    Statspack,
    /// Tables of one of them, without the title.
    Excerpt,
}

/// The report of one instance over one interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadReport {
    /// What it calls itself.
    pub kind: ReportKind,
    /// The file it was read from, as it was named.
    pub file: String,
    /// First line of it in the file, from 1.
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
    /// CPU time of the sessions of users in the interval.
    pub db_cpu_s: Option<Printed>,
    /// The events that took the most time, without the row of CPU time, as printed.
    pub events: Vec<ReportEvent>,
    /// Parameters that say how CPUs, memory and its placement were set, as name and value.
    pub parameters: Vec<(String, String)>,
    /// Figures of the text that contradict one another, a sentence each.
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
    /// Time of the first snapshot, in the words of the report.
    pub begin: Option<String>,
    /// Time of the last snapshot, in the words of the report.
    pub end: Option<String>,
    /// Time between them.
    pub elapsed_s: Option<Printed>,
}

/// The load profile, per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LoadProfile {
    /// DB time.
    pub db_time_per_s: Option<Printed>,
    /// CPU time of the sessions of users: CPUs that were delivered to them.
    pub db_cpu_per_s: Option<Printed>,
    /// Logical reads, in blocks.
    pub logical_reads_per_s: Printed,
    /// Physical reads, in blocks.
    pub physical_reads_per_s: Option<Printed>,
}

/// One row of the events that took the most time.
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
    /// CPUs delivered to the sessions of users: DB CPU per second of the interval. From the
    /// seconds of DB CPU and the interval where both are known, which have more digits than the
    /// load profile; else from the load profile.
    pub fn cpus_delivered(&self) -> Option<Printed> {
        let elapsed = self.interval.elapsed_s;
        let divided = match (self.db_cpu_s, elapsed) {
            (Some(cpu), Some(elapsed)) if elapsed.value > elapsed.half_unit => Some(Printed {
                value: cpu.value / elapsed.value,
                // The largest that the two roundings can make of it, to first order.
                half_unit: cpu.half_unit / elapsed.value
                    + cpu.value * elapsed.half_unit / (elapsed.value * elapsed.value),
            }),
            _ => None,
        };
        divided.or(self.profile.db_cpu_per_s)
    }
}
