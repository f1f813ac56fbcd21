//! The types of `numalab.fleet-comparison/1`: machines that should be equal, and are not.

use serde::Serialize;

use crate::Metric;

/// What machines have in common, and which differ.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct FleetComparison {
    /// By what machines were grouped.
    pub grouped_by: String,
    /// Machines that were compared.
    pub machines: u32,
    /// The groups: those with most machines first.
    pub groups: Vec<FleetGroup>,
}

/// Machines that should be equal.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct FleetGroup {
    /// What they have in common.
    pub name: String,
    /// The machines, by name.
    pub machines: Vec<FleetMember>,
    /// Where one machine or some are not as the others, the worst first.
    pub findings: Vec<FleetFinding>,
    /// Where machines differ, and no value is that of most.
    pub splits: Vec<FactSplit>,
    /// What was measured on at least two of them.
    pub figures: Vec<GroupFigure>,
    /// Figures by which two machines differ; which is the odd one cannot be told.
    pub pairs: Vec<FigurePair>,
    /// Machines whose figures are not compared, since they have other nodes, are emulated, or none
    /// were stored.
    pub without_figures: Vec<String>,
}

/// A machine of a group.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct FleetMember {
    /// `uname -n`.
    pub host: String,
    /// The run that its facts are from.
    pub run: String,
    /// When that was, RFC 3339 with offset.
    pub started_at: String,
}

/// What a fact is about: the worse to differ in, the earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FactKind {
    /// The nodes, by which SNC or NPS shows.
    Nodes,
    /// CPUs that are online.
    Cpus,
    /// Memory of a node, or of the machine.
    Memory,
    /// Memory modules in slots.
    MemoryModules,
    /// A measured figure.
    Figure,
    /// Pools of huge pages of a node.
    HugePages,
    /// The firmware's distances.
    Distances,
    /// The firmware's ratings of memory.
    Ratings,
    /// Devices by node.
    Devices,
    /// Names and versions of the firmware and the processor.
    Firmware,
    /// Settings of the kernel.
    Setting,
    /// The version of the kernel.
    Kernel,
    /// What the doctor found.
    Doctor,
}

/// A fact in which some machines are not as most of their group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FleetFinding {
    /// What it is about.
    pub kind: FactKind,
    /// The fact, such as `memory of node 1` or `vm.swappiness`.
    pub fact: String,
    /// The machines.
    pub hosts: Vec<String>,
    /// What the group has.
    pub expected: String,
    /// How many machines have that.
    pub having: u32,
    /// Of how many that are known.
    pub known: u32,
    /// What these machines have.
    pub measured: String,
    /// The figures, if it was measured.
    pub figure: Option<FigureDifference>,
}

/// A figure of one machine beside those of its group. Values are in the unit of the metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FigureDifference {
    /// The experiment.
    pub experiment: String,
    /// The case that differs most.
    pub case: String,
    /// The stored run.
    pub run: String,
    /// The metric.
    pub metric: Metric,
    /// The group's centre.
    pub expected: f64,
    /// Within these, all figures of all machines of 95 % of groups of equal machines lie.
    pub expected_low: f64,
    /// The upper end.
    pub expected_high: f64,
    /// The machine's median.
    pub measured: f64,
    /// Its interval, 95 %, from its own trials; `None` where they are too few.
    pub measured_low: Option<f64>,
    /// The upper end.
    pub measured_high: Option<f64>,
    /// Measured by expected.
    pub ratio: f64,
    /// Whether it is worse than the group.
    pub is_worse: bool,
    /// Cases of the experiment that differ so.
    pub cases_differing: u32,
    /// Cases of the experiment.
    pub cases: u32,
}

/// A fact for which no value is that of most machines.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FactSplit {
    /// What it is about.
    pub kind: FactKind,
    /// The fact.
    pub fact: String,
    /// The values with their machines, the most frequent first.
    pub values: Vec<FactValue>,
}

/// Machines with one value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FactValue {
    /// The value.
    pub value: String,
    /// The machines.
    pub hosts: Vec<String>,
}

/// A figure of a group. Values are in the unit of the metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupFigure {
    /// The experiment.
    pub experiment: String,
    /// The case.
    pub case: String,
    /// The metric.
    pub metric: Metric,
    /// Machines that have it.
    pub machines: u32,
    /// The median of the machines.
    pub centre: f64,
    /// Machine-to-machine spread as a share of the centre (one standard deviation, robust).
    pub spread: f64,
    /// The smallest difference from the centre, as a share, that would have been found; `None` for
    /// fewer than three machines.
    pub found_from: Option<f64>,
    /// The figure of each machine, in the order of the group's; `None` where it was not measured.
    pub values: Vec<Option<f64>>,
}

/// A figure by which two machines differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FigurePair {
    /// The experiment.
    pub experiment: String,
    /// The case.
    pub case: String,
    /// The metric.
    pub metric: Metric,
    /// The machines.
    pub hosts: [String; 2],
    /// Their figures.
    pub values: [f64; 2],
    /// The second by the first.
    pub ratio: f64,
    /// Its interval, 95 % over all figures.
    pub ratio_low: f64,
    /// The upper end.
    pub ratio_high: f64,
}

impl FactKind {
    /// Its name in documents and texts.
    pub fn name(self) -> &'static str {
        match self {
            FactKind::Nodes => "nodes",
            FactKind::Cpus => "cpus",
            FactKind::Memory => "memory",
            FactKind::MemoryModules => "memory-modules",
            FactKind::Figure => "figure",
            FactKind::HugePages => "huge-pages",
            FactKind::Distances => "distances",
            FactKind::Ratings => "ratings",
            FactKind::Devices => "devices",
            FactKind::Firmware => "firmware",
            FactKind::Setting => "setting",
            FactKind::Kernel => "kernel",
            FactKind::Doctor => "doctor",
        }
    }
}
