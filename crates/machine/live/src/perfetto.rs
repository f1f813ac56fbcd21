//! A recording as a trace that Perfetto and Chrome show: counters in the JSON trace event format
//! (`"ph":"C"`), one track for each node, database and process.

use std::collections::BTreeMap;
use std::io::Write;

use model::Snapshot;
use serde_json::{Value, json};

use crate::Change;

/// Processes with a track: those that used most CPU time over the recording.
const PROCESSES_MAX: usize = 20;

/// The processes with a track, by id and start.
#[derive(Debug)]
pub struct Busiest(Vec<(u32, u64)>);

/// The processes of a recording that used most CPU time.
pub fn busiest(snapshots: impl Iterator<Item = Snapshot>) -> Busiest {
    let mut used: BTreeMap<(u32, u64), (f64, f64)> = BTreeMap::new();
    for process in snapshots.flat_map(|snapshot| snapshot.processes) {
        let key = (process.pid, process.start_ticks);
        let span = used.entry(key).or_insert((process.cpu_s, process.cpu_s));
        span.1 = process.cpu_s;
    }
    let mut order: Vec<(f64, (u32, u64))> = used
        .into_iter()
        .map(|(key, (first, last))| (last - first, key))
        .collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    let busiest = order.into_iter().take(PROCESSES_MAX);
    Busiest(busiest.map(|(_, key)| key).collect())
}

/// Something else that grew meanwhile.
#[derive(Clone, Debug)]
pub struct Track {
    /// What it is, with its unit.
    pub name: String,
    /// Seconds on the clock of `uptime_s`, and how much it was then.
    pub points: Vec<(f64, u64)>,
}

/// Writes the trace of the same snapshots, oldest first, and of what else grew.
///
/// # Errors
/// When it cannot be written.
pub fn write(
    busiest: &Busiest,
    snapshots: impl Iterator<Item = Snapshot>,
    tracks: &[Track],
    file: &mut impl Write,
) -> std::io::Result<()> {
    write!(file, "{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
    let machine = json!({"ph": "M", "pid": 0, "name": "process_name", "args": {"name": "machine"}});
    write!(file, "{machine}")?;
    let mut before = None;
    for snapshot in snapshots {
        for event in events(before.as_ref(), &snapshot, &busiest.0) {
            write!(file, ",\n{event}")?;
        }
        before = Some(snapshot);
    }
    for track in tracks {
        for (at_s, value) in &track.points {
            let event = counter(*at_s, track.name.clone(), json!({"value": value}));
            write!(file, ",\n{event}")?;
        }
    }
    writeln!(file, "]}}")
}

/// An event of a counter; the format counts microseconds.
fn counter(at_s: f64, name: String, figures: Value) -> Value {
    json!({"ph": "C", "pid": 0, "ts": at_s * 1e6, "name": name, "args": figures})
}

fn events(before: Option<&Snapshot>, snapshot: &Snapshot, busiest: &[(u32, u64)]) -> Vec<Value> {
    let counter = |name: String, figures: Value| counter(snapshot.uptime_s, name, figures);
    let change = before
        .map(|before| Change::between(before, snapshot))
        .unwrap_or_default();
    let mut events = Vec::new();
    for node in &snapshot.nodes {
        if let Some(free) = node.free_bytes {
            events.push(counter(
                format!("node {} free bytes", node.id),
                json!({"free": free}),
            ));
        }
    }
    for node in &change.nodes {
        if let (Some(hit), Some(miss), Some(foreign)) =
            (node.hit_per_s, node.miss_per_s, node.foreign_per_s)
        {
            let figures = json!({"hit": hit, "miss": miss, "foreign": foreign});
            events.push(counter(
                format!("node {} pages per second", node.id),
                figures,
            ));
        }
    }
    for instance in &snapshot.instances {
        if let Some(memory) = &instance.memory {
            let figures = memory.bytes_by_node.iter();
            let figures: BTreeMap<String, u64> = figures
                .map(|(node, bytes)| (format!("node {node}"), *bytes))
                .collect();
            events.push(counter(
                match memory.complete {
                    true => format!("{} bytes by node", instance.name),
                    false => format!("{} bytes by node, at least", instance.name),
                },
                json!(figures),
            ));
        }
    }
    for process in &snapshot.processes {
        let used = change
            .process(process.pid)
            .and_then(|change| change.cpus_used);
        let is_shown = busiest.contains(&(process.pid, process.start_ticks));
        if let (Some(used), true) = (used, is_shown) {
            let name = format!("{} {} CPUs used", process.name, process.pid);
            events.push(counter(name, json!({"CPUs": used})));
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{NodeSnapshot, ProcessSnapshot};

    #[test]
    fn the_trace_is_json_with_a_counter_for_each_figure() {
        let at = |uptime_s: f64, cpu_s: f64| Snapshot {
            uptime_s,
            nodes: vec![NodeSnapshot {
                free_bytes: Some(7),
                ..NodeSnapshot::default()
            }],
            processes: vec![ProcessSnapshot {
                name: "a\"b\\".to_owned(),
                cpu_s,
                ..ProcessSnapshot::default()
            }],
            ..Snapshot::default()
        };
        let mut trace = Vec::new();
        let track = Track {
            name: "bytes moved".to_owned(),
            points: vec![(1.5, 7)],
        };
        let snapshots = || [at(1.0, 0.0), at(2.0, 0.5)].into_iter();
        write(&busiest(snapshots()), snapshots(), &[track], &mut trace).unwrap();
        let trace: Value = serde_json::from_slice(&trace).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        assert_eq!(events.len(), 5);
        assert_eq!(
            (&events[4]["ts"], &events[4]["args"]["value"]),
            (&json!(1.5e6), &json!(7))
        );
        assert_eq!(events[3]["args"]["CPUs"], 0.5);
        assert_eq!(
            (&events[3]["ph"], &events[3]["ts"]),
            (&json!("C"), &json!(2e6))
        );
    }
}
