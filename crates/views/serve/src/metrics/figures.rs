//! From a snapshot, the forecast and the newest runs to metrics. Pure; what is unknown is absent.

use model::{InstanceSnapshot, MachineSnapshot, MemorySource, NodeSnapshot, Pressure, Snapshot};

use super::exposition::Exposition;
use super::run_figures::{RunFigures, add_runs};
use super::table;

/// Maximum number of instances with metrics of their own; each has a series for every node.
const INSTANCES_MAX: usize = 32;

/// What metrics are made of.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'o> {
    /// The version of numalab.
    pub version: &'o str,
    /// The machine.
    pub snapshot: &'o Snapshot,
    /// What runs out, and when.
    pub forecast: &'o [Expected],
    /// The newest run of each experiment, newest first.
    /// `None` if the store cannot be read.
    pub runs: Option<&'o [RunFigures]>,
    /// The exporter. `None` where another one shows the metrics beside figures of its own.
    pub exporter: Option<Exporter>,
}

/// What the exporter itself uses, as every client library of Prometheus shows it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exporter {
    /// CPU time, in seconds.
    pub cpu_s: f64,
    /// Its memory.
    pub resident_bytes: Option<u64>,
    /// Its open descriptors.
    pub open_files: Option<usize>,
    /// When it started, in seconds since 1970-01-01 UTC.
    pub started_at_s: f64,
}

/// A resource of a node that runs out if the present rate lasts.
#[derive(Debug, Clone, PartialEq)]
pub struct Expected {
    /// Id of the node.
    pub node: u32,
    /// `memory`, or `huge-pages-` and the size of a page in bytes.
    pub resource: String,
    /// Seconds until it runs out, by the median slope.
    pub seconds: f64,
    /// The same by the steepest and the flattest slope of the 95 % interval.
    pub interval: (f64, f64),
}

/// Returns the metrics in the text format of Prometheus, version 0.0.4.
pub fn metrics_text(observed: &Observed<'_>) -> String {
    let mut exposition = Exposition::default();
    let it = &mut exposition;
    let snapshot = observed.snapshot;
    it.add(&table::BUILD, &[observed.version], Some(1.0));
    it.add(&table::TAKEN, &[], Some(snapshot.taken_at_s));
    it.add(&table::COST, &[], Some(snapshot.cost_s));
    it.add(&table::GAPS, &[], count(snapshot.gaps.len()));
    snapshot.nodes.iter().for_each(|node| add_node(it, node));
    add_pressure(it, &snapshot.pressure);
    add_counters(it, &snapshot.counters);
    it.add(&table::PROCESSES, &[], count(snapshot.processes.len()));
    add_instances(it, snapshot);
    for expected in observed.forecast {
        let node = expected.node.to_string();
        let labels = [node.as_str(), &expected.resource];
        let (low, high) = expected.interval;
        it.add(&table::FORECAST, &labels, Some(expected.seconds));
        it.add(&table::FORECAST_LOW, &labels, Some(low));
        it.add(&table::FORECAST_HIGH, &labels, Some(high));
    }
    it.add(
        &table::STORE,
        &[],
        Some(f64::from(u8::from(observed.runs.is_some()))),
    );
    if let Some(runs) = observed.runs {
        add_runs(it, runs);
    }
    if let Some(exporter) = &observed.exporter {
        it.add(&table::OWN_CPU, &[], Some(exporter.cpu_s));
        it.add(&table::OWN_MEMORY, &[], exporter.resident_bytes.map(number));
        it.add(&table::OWN_START, &[], Some(exporter.started_at_s));
        it.add(&table::OWN_FILES, &[], exporter.open_files.and_then(count));
    }
    exposition.text()
}

fn add_node(it: &mut Exposition, node: &NodeSnapshot) {
    let id = node.id.to_string();
    let id = id.as_str();
    let amounts = [
        (&table::NODE_MEMORY, node.memory_bytes),
        (&table::NODE_FREE, node.free_bytes),
        (&table::NODE_CACHE, node.page_cache_bytes),
        (&table::NODE_ANONYMOUS, node.anonymous_bytes),
        (&table::NODE_SHARED, node.shared_bytes),
    ];
    for (metric, amount) in amounts {
        it.add(metric, &[id], amount.map(number));
    }
    for pool in &node.huge_pages {
        let size = pool.page_bytes.to_string();
        let labels = [id, &size];
        it.add(&table::NODE_HUGE, &labels, Some(number(pool.total)));
        it.add(&table::NODE_HUGE_FREE, &labels, pool.free.map(number));
        it.add(&table::NODE_HUGE_SURPLUS, &labels, pool.surplus.map(number));
    }
    if let Some(pages) = node.allocations {
        let kinds = [
            ("hit", pages.hit),
            ("miss", pages.miss),
            ("foreign", pages.foreign),
        ];
        for (kind, pages) in kinds {
            it.add(&table::NODE_ALLOCATIONS, &[id, kind], Some(number(pages)));
        }
    }
    it.add(&table::NODE_CPU, &[id], node.cpu_busy_s);
    it.add(&table::NODE_CPUS, &[id], count(node.cpus.len()));
}

fn add_pressure(it: &mut Exposition, pressure: &Pressure) {
    it.add(&table::PRESSURE, &["cpu", "some"], pressure.cpu_some);
    it.add(&table::PRESSURE, &["memory", "some"], pressure.memory_some);
    it.add(&table::PRESSURE, &["memory", "full"], pressure.memory_full);
}

fn add_counters(it: &mut Exposition, counters: &MachineSnapshot) {
    it.add(&table::STEAL, &[], counters.steal_s);
    let pages = [
        (&table::BALANCED, counters.numa_pages_migrated),
        (&table::HINTS, counters.numa_hint_faults),
        (&table::HINTS_LOCAL, counters.numa_hint_faults_local),
        (&table::MIGRATED, counters.pages_migrated),
    ];
    for (metric, pages) in pages {
        it.add(metric, &[], pages.map(number));
    }
}

fn add_instances(it: &mut Exposition, snapshot: &Snapshot) {
    let instances = &snapshot.instances;
    it.add(&table::INSTANCES, &[], count(instances.len()));
    let left_out = instances.len().saturating_sub(INSTANCES_MAX);
    it.add(&table::INSTANCES_LEFT_OUT, &[], count(left_out));
    for instance in instances.iter().take(INSTANCES_MAX) {
        let name = instance.name.as_str();
        it.add(
            &table::INSTANCE_PROCESSES,
            &[name],
            count(instance.pids.len()),
        );
        let Some(memory) = &instance.memory else {
            continue;
        };
        let source = match memory.source {
            MemorySource::ControlGroup => "control-group",
            MemorySource::NumaMaps => "numa-maps",
            MemorySource::Inspect => "inspect",
            MemorySource::OnlyNode => "only-node",
        };
        for (node, bytes) in memory.bytes_by_node.iter() {
            let labels = [name, &node.to_string(), source];
            it.add(&table::INSTANCE_MEMORY, &labels, Some(number(*bytes)));
        }
        let age = (snapshot.uptime_s - memory.looked_at_s).max(0.0);
        it.add(&table::INSTANCE_MEMORY_AGE, &[name], Some(age));
        let complete = f64::from(u8::from(memory.complete));
        it.add(&table::INSTANCE_MEMORY_COMPLETE, &[name], Some(complete));
        if memory.source == MemorySource::NumaMaps {
            let examined = examined(snapshot, instance);
            it.add(&table::INSTANCE_EXAMINED, &[name], count(examined));
        }
    }
}

/// Counts the processes of an instance whose memory has been looked at.
fn examined(snapshot: &Snapshot, instance: &InstanceSnapshot) -> usize {
    let processes = snapshot.processes.iter();
    let of_it = processes.filter(|it| instance.pids.binary_search(&it.pid).is_ok());
    let sources = of_it.filter_map(|it| Some(it.memory.as_ref()?.source));
    sources.filter(|it| *it == MemorySource::NumaMaps).count()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the format has no other numbers"
)]
fn number(value: u64) -> f64 {
    value as f64
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the format has no other numbers"
)]
fn count(value: usize) -> Option<f64> {
    Some(value as f64)
}
