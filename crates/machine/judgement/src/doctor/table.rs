//! The table of findings: the name, severity and cost of each.

use model::{Cost, Diagnosis, Severity};

use super::input::{DoctorInput, Found};
use super::{huge_pages, incomplete_data, instance, machine, postgres, settings};

/// One possible finding.
pub struct Rule {
    /// Its name.
    pub id: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What is wrong when it is found.
    pub about: &'static str,
    /// What it costs.
    pub cost: &'static str,
    /// Who measured or states that.
    pub cost_source: &'static str,
    /// Checks for it.
    pub(super) check: fn(&DoctorInput) -> Option<Found>,
}

/// Every finding, in the order in which findings of equal severity are shown.
pub const FINDINGS: &[Rule] = &[
    Rule {
        id: "cyclops",
        severity: Severity::Error,
        about: "nearly all shared memory lies on one node, while processes run on others",
        cost: "an SGA on a far node gave 2.17 instead of 4.62 million logical reads per second",
        cost_source: "Drouvot, 7 January 2015; `numalab run local-vs-remote` measures it here",
        check: instance::cyclops,
    },
    Rule {
        id: "memory-skew",
        severity: Severity::Warning,
        about: "one node has far more of the shared memory than its even share",
        cost: "a part of what a Cyclops costs; that node runs out of memory and bandwidth first",
        cost_source: "Closson, \"Introducing Cyclops\", 2007",
        check: instance::skew,
    },
    Rule {
        id: "sga-without-policy",
        severity: Severity::Info,
        about: "shared memory has no policy although it is used from several nodes",
        cost: "none yet: where its pages lie is chance, and another start may make a Cyclops",
        cost_source: "Closson, \"Introducing Cyclops\", 2007",
        check: instance::without_policy,
    },
    Rule {
        id: "masks-disagree",
        severity: Severity::Warning,
        about: "processes may run on some nodes and have memory only on others",
        cost: "every access of theirs to memory is remote",
        cost_source: "cpuset(7); `numalab latency` measures what a remote access costs here",
        check: instance::masks_disagree,
    },
    Rule {
        id: "cpuset-narrower-than-policy",
        severity: Severity::Warning,
        about: "a memory policy names nodes that the cpuset of a process forbids",
        cost: "the policy is cut down without a word, and memory lies on fewer nodes",
        cost_source: "kernel, admin-guide/mm/numa_memory_policy.rst",
        check: instance::cpuset_narrower,
    },
    Rule {
        id: "far-program-text",
        severity: Severity::Info,
        about: "program text is cached on nodes where none of the processes may run",
        cost: "5 % of queries (190 to 182 thousand per second) on a two-socket Kunpeng server",
        cost_source: "measurements of mysqld published by plantegg",
        check: instance::far_text,
    },
    Rule {
        id: "far-data-files",
        severity: Severity::Info,
        about: "data files are cached on nodes where none of the processes may run",
        cost: "every read copies from a far node; another process filled the cache, and it stays",
        cost_source: "kernel, admin-guide/mm/numa_memory_policy.rst; `numalab latency` measures it",
        check: instance::far_files,
    },
    Rule {
        id: "memory-only-node-used",
        severity: Severity::Warning,
        about: "memory of the target lies on a node without CPUs, which no process is near to",
        cost: "such memory (CXL, persistent memory) is slower from every CPU",
        cost_source: "`numalab latency` measures it here",
        check: instance::memory_only_used,
    },
    Rule {
        id: "incomplete-data",
        severity: Severity::Info,
        about: "some of the memory could not be located, so figures are lower bounds",
        cost: "findings may be missing",
        cost_source: "the gaps, above",
        check: incomplete_data::check,
    },
    Rule {
        id: "huge-pages-unused",
        severity: Severity::Warning,
        about: "a pool of huge pages takes memory, and nobody uses it",
        cost: "the memory of the pool is lost to everything else",
        cost_source: "kernel, admin-guide/mm/hugetlbpage.rst",
        check: huge_pages::unused,
    },
    Rule {
        id: "huge-pages-uneven",
        severity: Severity::Warning,
        about: "the pool of huge pages is not even over the nodes with memory and CPUs",
        cost: "an interleaved SGA falls back to other nodes or to small pages",
        cost_source: "kernel, admin-guide/mm/hugetlbpage.rst",
        check: huge_pages::uneven,
    },
    Rule {
        id: "huge-pages-short-on-bound-node",
        severity: Severity::Warning,
        about: "huge pages are free, but not on the nodes to which the target is bound",
        cost: "the SGA has small pages; with huge pages on NUMA jobs took 12 to 15 % less time",
        cost_source: "Closson, \"The NUMA Angle (Part VII)\", 2007",
        check: huge_pages::short_on_bound_node,
    },
    Rule {
        id: "numa-off",
        severity: Severity::Error,
        about: "NUMA is switched off on the kernel's command line",
        cost: "the kernel cannot place anything: 24 instead of 8 seconds for a parallel scan",
        cost_source: "Hoogland, \"in-memory parallel execution and NUMA\", 2016 (in the database)",
        check: machine::numa_off,
    },
    Rule {
        id: "firmware-interleaving",
        severity: Severity::Warning,
        about: "several packages, but one node: the firmware interleaves memory (SUMA)",
        cost: "jobs took 12 to 15 % longer than with NUMA and huge pages; writes 156 against 97 ns",
        cost_source: "Closson, \"The NUMA Angle\" (Parts V and VII), 2007",
        check: machine::firmware_interleaving,
    },
    Rule {
        id: "node-nearly-full",
        severity: Severity::Warning,
        about: "one node is nearly out of free memory while another has plenty",
        cost: "allocations go to far nodes or wait for reclaim; bound processes are killed",
        cost_source: "Closson, \"Introducing Cyclops\", 2007; kernel, admin-guide/sysctl/vm.rst",
        check: machine::node_nearly_full,
    },
    Rule {
        id: "allocations-elsewhere",
        severity: Severity::Info,
        about: "a node was full when its memory was asked for, and other nodes gave theirs",
        cost: "what lies elsewhere is slower for as long as it lives",
        cost_source: "kernel, admin-guide/numastat.rst; `numalab latency` measures it here",
        check: machine::allocations_elsewhere,
    },
    Rule {
        id: "distances-impossible",
        severity: Severity::Warning,
        about: "the firmware's distances contradict their own definition",
        cost: "the kernel chooses fallback nodes and scheduler domains by them",
        cost_source: "ACPI 6.5, 5.2.17 (System Locality Information Table)",
        check: machine::distances_impossible,
    },
    Rule {
        id: "distances-asymmetric",
        severity: Severity::Info,
        about: "the firmware says that the way there is longer than the way back",
        cost: "rarely true; the kernel orders nodes by it all the same",
        cost_source: "`numalab latency` measures both ways",
        check: machine::distances_asymmetric,
    },
    Rule {
        id: "distances-flat",
        severity: Severity::Info,
        about: "the firmware gives all other nodes one distance, so a further hop is not visible",
        cost: "a hop that the firmware hid cost 37 ns (248 against 211 ns)",
        cost_source: "Hoogland, \"memory allocation on startup\", 2016",
        check: machine::distances_flat,
    },
    Rule {
        id: "devices-on-one-node",
        severity: Severity::Info,
        about: "all devices of a kind are attached to one node",
        cost: "up to 20 % where the network decides, more than the placement of memory",
        cost_source: "measurements published by plantegg",
        check: machine::devices_on_one_node,
    },
    Rule {
        id: "numa-balancing",
        severity: Severity::Warning,
        about: "the kernel moves pages after processes that are placed on purpose",
        cost: "page faults that only ask who uses a page, and moves that undo the placement",
        cost_source: "kernel, admin-guide/sysctl/kernel.rst (numa_balancing)",
        check: settings::numa_balancing,
    },
    Rule {
        id: "zone-reclaim",
        severity: Severity::Warning,
        about: "the kernel reclaims the cache of a node before it uses free memory of another",
        cost: "stalls and a small file cache while memory is free",
        cost_source: "kernel, admin-guide/sysctl/vm.rst (zone_reclaim_mode)",
        check: settings::zone_reclaim,
    },
    Rule {
        id: "transparent-huge-pages",
        severity: Severity::Warning,
        about: "transparent huge pages are always on for a database that advises against them",
        cost: "stalls while pages are compacted, and memory that grows",
        cost_source: "the manuals of these databases",
        check: settings::transparent_huge_pages,
    },
    Rule {
        id: "postgres-huge-pages-fell-back",
        severity: Severity::Warning,
        about: "PostgreSQL was told to try huge pages, and runs in small ones",
        cost: "page tables of every session for all of the buffers, and more TLB misses",
        cost_source: "`numalab run postgres-huge-pages` measures it here",
        check: postgres::huge_pages_fell_back,
    },
    Rule {
        id: "postgres-huge-pages-short",
        severity: Severity::Warning,
        about: "the nodes that PostgreSQL may use have fewer huge pages than it needs",
        cost: "with huge_pages = on it does not start, with try it runs in small pages",
        cost_source: "PostgreSQL, \"Linux Huge Pages\"; kernel, admin-guide/mm/hugetlbpage.rst",
        check: postgres::huge_pages_short,
    },
    Rule {
        id: "postgres-private-memory-interleaved",
        severity: Severity::Info,
        about: "PostgreSQL was started interleaved, so its sessions' own memory is, too",
        cost: "some 10 to 20 % of performance for what sessions do in their own memory",
        cost_source: "Andres Freund, \"NUMA vs PostgreSQL\", pgconf.eu 2024",
        check: postgres::private_memory_interleaved,
    },
    Rule {
        id: "postgres-helpers-far",
        severity: Severity::Info,
        about: "I/O workers or the WAL writer of PostgreSQL run far from its shared memory",
        cost: "remote writes and reads for each block and each record of the log that they handle",
        cost_source: "`numalab latency` measures what a remote access costs here",
        check: postgres::helpers_far,
    },
];

/// Applies every rule; the most severe findings come first.
pub fn diagnose(input: &DoctorInput) -> Vec<Diagnosis> {
    let found = FINDINGS.iter().filter_map(|rule| {
        let found = (rule.check)(input)?;
        Some(Diagnosis {
            id: rule.id.to_owned(),
            severity: rule.severity,
            message: found.message,
            evidence: found.evidence,
            cost: Cost {
                estimate: rule.cost.to_owned(),
                source: rule.cost_source.to_owned(),
            },
            fix: found.fix,
        })
    });
    let mut found: Vec<Diagnosis> = found.collect();
    found.sort_by_key(|diagnosis| std::cmp::Reverse(diagnosis.severity));
    found
}
