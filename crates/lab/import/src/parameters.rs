//! The parameters that configure the instance's CPUs, memory and placement.
//!
//! ```text
//! Parameter Name                Begin value                       (if different)
//! ----------------------------- --------------------------------- --------------
//! cpu_count                     6
//! processor_group_name          oracle
//! ```

use crate::pieces::Line;

/// Parameters to keep; the others do not concern placement.
const KEPT: [&str; 16] = [
    "_enable_NUMA_interleave",
    "_enable_NUMA_optimization",
    "_enable_NUMA_support",
    "cpu_count",
    "cpu_min_count",
    "db_block_size",
    "db_cache_size",
    "inmemory_size",
    "memory_target",
    "parallel_max_servers",
    "processor_group_name",
    "resource_manager_plan",
    "sga_max_size",
    "sga_target",
    "shared_pool_size",
    "use_large_pages",
];

/// The parameters to keep, in the order of the report. A value that the report wraps is truncated
/// at the end of its line. One that changed within the interval is followed by its last value.
pub(crate) fn read(lines: &[Line<'_>]) -> Vec<(String, String)> {
    let is_heading = |(_, line): &Line<'_>| line.trim_start().starts_with("Parameter Name");
    let Some(heading) = lines.iter().position(is_heading) else {
        return Vec::new();
    };
    let mut found: Vec<(String, String)> = Vec::new();
    for (_, line) in &lines[heading + 1..] {
        let (name, value) = line
            .trim()
            .split_once(char::is_whitespace)
            .unwrap_or((line.trim(), ""));
        let is_new = found.iter().all(|(known, _)| known != name);
        if KEPT.contains(&name) && is_new {
            let words: Vec<&str> = value.split_whitespace().collect();
            found.push((name.to_owned(), words.join(" ")));
        }
    }
    found
}
