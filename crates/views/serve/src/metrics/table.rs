//! The table of metrics: names, types, labels and help. HELP lines, the table in docs/serve.md and
//! the check of the dashboard come from it.

use super::metric::{Kind, Metric};
use super::run_table::RUN_METRICS;

macro_rules! metrics {
    ($($id:ident $kind:ident $name:literal [$($label:literal),*] $help:literal;)*) => {
        $(
            pub(super) const $id: Metric = Metric {
                name: $name,
                kind: Kind::$kind,
                labels: &[$($label),*],
                help: $help,
            };
        )*
        const OF_MACHINE_AND_STORE: &[Metric] = &[$($id),*];
    };
}

metrics! {
    BUILD Gauge "numalab_build_info" ["version"]
        "Always 1; the version of numalab is a label.";
    TAKEN Gauge "numalab_snapshot_timestamp_seconds" []
        "When the figures were read, in seconds since 1970-01-01 UTC.";
    COST Gauge "numalab_snapshot_cpu_seconds" []
        "CPU time that numalab used to read them.";
    GAPS Gauge "numalab_snapshot_gaps" []
        "Figures that could not be read; they are absent here.";
    NODE_MEMORY Gauge "numalab_node_memory_bytes" ["node"]
        "Memory of the node (MemTotal).";
    NODE_FREE Gauge "numalab_node_memory_free_bytes" ["node"]
        "Free memory of the node (MemFree).";
    NODE_CACHE Gauge "numalab_node_memory_page_cache_bytes" ["node"]
        "Page cache of the node that the kernel can drop or write back.";
    NODE_ANONYMOUS Gauge "numalab_node_memory_anonymous_bytes" ["node"]
        "Anonymous memory on the node (AnonPages).";
    NODE_SHARED Gauge "numalab_node_memory_shared_bytes" ["node"]
        "Shared memory and tmpfs on the node, without huge pages (Shmem).";
    NODE_HUGE Gauge "numalab_node_huge_pages" ["node", "page_size"]
        "Huge pages in the pool of the node; page_size is in bytes.";
    NODE_HUGE_FREE Gauge "numalab_node_huge_pages_free" ["node", "page_size"]
        "Huge pages of the pool that are not in use.";
    NODE_HUGE_SURPLUS Gauge "numalab_node_huge_pages_surplus" ["node", "page_size"]
        "Huge pages beyond the configured size of the pool.";
    NODE_ALLOCATIONS Counter "numalab_node_allocations_total" ["node", "kind"]
        "Pages allocated: hit (intended for this node, allocated here), miss (intended for \
         another node, allocated here), foreign (intended for this node, allocated elsewhere).";
    NODE_CPU Counter "numalab_node_cpu_busy_seconds_total" ["node"]
        "Time that the CPUs of the node have worked, over all of them.";
    NODE_CPUS Gauge "numalab_node_cpus" ["node"]
        "CPUs of the node.";
    PRESSURE Gauge "numalab_pressure_ratio" ["resource", "kind"]
        "Share of the last ten seconds in which tasks waited for the resource: some of them, or \
         all (full).";
    STEAL Counter "numalab_cpu_steal_seconds_total" []
        "Time that the hypervisor gave to other guests while a CPU here was ready.";
    BALANCED Counter "numalab_numa_balancing_migrated_pages_total" []
        "Pages that NUMA balancing moved between nodes.";
    HINTS Counter "numalab_numa_balancing_hint_faults_total" []
        "Page faults by which NUMA balancing finds out where memory is used.";
    HINTS_LOCAL Counter "numalab_numa_balancing_local_hint_faults_total" []
        "Those of them on the node of the page.";
    MIGRATED Counter "numalab_migrated_pages_total" []
        "Pages moved between nodes for any reason.";
    PROCESSES Gauge "numalab_processes" []
        "Processes, without kernel threads.";
    INSTANCES Gauge "numalab_instances" []
        "Database instances found.";
    INSTANCES_LEFT_OUT Gauge "numalab_instances_left_out" []
        "Database instances without metrics of their own, because there are too many.";
    INSTANCE_PROCESSES Gauge "numalab_instance_processes" ["database"]
        "Processes of the database instance.";
    INSTANCE_MEMORY Gauge "numalab_instance_memory_bytes" ["database", "node", "source"]
        "Memory of the database instance on the node, each shared page counted once; a lower bound \
         unless numalab_instance_memory_complete is 1. source says how it was found: inspect (as \
         numalab inspect does), control-group (its own, without huge pages) or numa-maps (what the \
         processes that were examined have touched themselves).";
    INSTANCE_MEMORY_COMPLETE Gauge "numalab_instance_memory_complete" ["database"]
        "Whether the figures of the instance's memory are exact. 0: they are lower bounds; huge \
         pages, and pages that no living process has touched, may be missing, and shares of nodes \
         are not those of all memory.";
    INSTANCE_MEMORY_AGE Gauge "numalab_instance_memory_age_seconds" ["database"]
        "How old the oldest of the figures of the instance's memory is.";
    INSTANCE_EXAMINED Gauge "numalab_instance_processes_examined" ["database"]
        "Processes of the instance in the figures of its memory, where source is numa-maps.";
    FORECAST Gauge "numalab_forecast_exhausted_seconds" ["node", "resource"]
        "Seconds until a node runs out of memory, or of huge pages of a size in bytes \
         (huge-pages-2097152), if the present rate lasts: what runs out first. Absent when nothing \
         is expected to within two hours.";
    FORECAST_LOW Gauge "numalab_forecast_exhausted_low_seconds" ["node", "resource"]
        "Lower end of the 95 % interval of that time.";
    FORECAST_HIGH Gauge "numalab_forecast_exhausted_high_seconds" ["node", "resource"]
        "Upper end of the 95 % interval of that time.";
    STORE Gauge "numalab_store_readable" []
        "Whether the store of runs is readable, or not there yet; 0 leaves out metrics of runs.";
    RUN_TIME Gauge "numalab_run_start_timestamp_seconds" ["experiment"]
        "When the newest stored run of the experiment started.";
    RUN_VALID Gauge "numalab_run_trials" ["experiment", "case", "outcome"]
        "Trials of that run: valid, invalid (do not count), failed (did not finish).";
    RUNS_LEFT_OUT Gauge "numalab_run_cases_left_out" []
        "Cases of the newest runs without metrics of their own, because there are too many.";
    OWN_CPU Counter "process_cpu_seconds_total" []
        "CPU time of the server itself (`numalab serve` only).";
    OWN_MEMORY Gauge "process_resident_memory_bytes" []
        "Memory of the server itself.";
    OWN_START Gauge "process_start_time_seconds" []
        "When the server started, in seconds since 1970-01-01 UTC.";
    OWN_FILES Gauge "process_open_fds" []
        "Open file descriptors of the server itself.";
}

/// Returns every metric, in the order in which they are written.
pub fn metrics() -> impl Iterator<Item = &'static Metric> {
    let of_runs = RUN_METRICS.iter().flat_map(|row| &row.metrics);
    OF_MACHINE_AND_STORE.iter().chain(of_runs)
}

/// Returns the table as Markdown, as it stands in docs/serve.md.
pub fn table_markdown() -> String {
    let mut text =
        String::from("| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n");
    for metric in metrics() {
        let labels: Vec<String> = metric.labels.iter().map(|it| format!("`{it}`")).collect();
        let labels = labels.join(", ");
        text += &format!(
            "| `{}` | {} | {labels} | {} |\n",
            metric.name,
            metric.kind.name(),
            metric.help
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_conventional() {
        let names: BTreeSet<_> = metrics().map(|metric| metric.name).collect();
        assert_eq!(names.len(), metrics().count());
        for metric in metrics() {
            // Those of the server have the names that every client library gives them.
            let prefix = ["numalab_", "process_"];
            let is_ours = prefix.iter().any(|it| metric.name.starts_with(it));
            assert!(is_ours, "{}", metric.name);
            let is_total = metric.name.ends_with("_total");
            assert_eq!(is_total, metric.kind == Kind::Counter, "{}", metric.name);
            assert!(metric.help.ends_with('.'), "{}", metric.name);
            assert!(!metric.help.contains(['|', '\n', '\\']), "{}", metric.name);
        }
    }

    #[test]
    fn the_page_has_the_table() {
        let page = include_str!("../../../../../docs/serve.md");
        let table = table_markdown();
        assert!(
            page.contains(&table),
            "put this into docs/serve.md:\n{table}"
        );
    }
}
