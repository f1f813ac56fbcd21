//! The request of a case in one line: the work and its placement.

use model::{
    Allocation, Backing, Between, ByteSize, CasePlan, CommandWork, DepthCurve, ImportedWork,
    LineTransfers, LoadedLatency, LogicalReads, Mechanism, MemoryLatency, NumberPlace,
    OwnMemoryWork, PageKind, ParallelScan, Placement, ServerKind, ServerReads, SessionMemory,
    Stealing, StreamWork, Work, counted,
};

use crate::run::figures::ids;

/// Describes the requested placement and work.
pub(crate) fn asked(plan: &CasePlan) -> String {
    let place = place(&plan.placement);
    match &plan.work {
        Work::LogicalReads(work) => logical_reads(work, &place),
        Work::ParallelScan(work) => parallel_scan(work, &place),
        Work::OwnMemory(work) => own_memory(work, &place),
        Work::Server(kind, work) => server(*kind, work, &place),
        Work::Command(work) => command(work, &place),
        Work::MemoryLatency(work) => memory_latency(work, &place),
        Work::DepthCurve(work) => depth_curve(work, &place),
        Work::LineTransfers(work) => line_transfers(work, &place),
        Work::Stream(work) => stream(work),
        Work::LoadedLatency(work) => loaded_latency(work, &place),
        Work::Imported(work) => imported(work),
    }
}

/// Returns "CPUs 1-6, memory of node 0, by a processor group".
fn place(placement: &Placement) -> String {
    let cpus = placement.cpus.as_ref();
    let cpus = cpus.map_or("any CPU".to_string(), |cpus| ids("CPU", cpus));
    let memory = placement.memory_nodes.as_ref();
    let memory = memory.map_or("any node".to_string(), |nodes| ids("node", nodes));
    let by = match placement.mechanism {
        _ if !placement.asks_for_something() => "",
        Mechanism::Group => ", by a processor group",
        Mechanism::Affinity => ", by affinity and memory policy",
    };
    format!("{cpus}, memory of {memory}{by}")
}

fn logical_reads(work: &LogicalReads, place: &str) -> String {
    let caging = match work.load.cpu_count {
        Some(count) => format!(", cpu_count {count}"),
        None => String::new(),
    };
    let rows = match work.load.work_unit {
        Some(1) => ", 1 row a statement".to_string(),
        Some(rows) => format!(", {} a statement", counted(rows, "row")),
        None => String::new(),
    };
    let updates = match work.load.update_pct {
        0 => String::new(),
        percent => format!(", {percent} % of statements update"),
    };
    let handicap = match work.load.handicap_pct {
        0.0 => String::new(),
        percent => format!(", {percent} % of statements repeated uncounted"),
    };
    let cost = match &work.load.emulated_cost {
        Some(cost) => format!(", with an emulated cost of {cost}"),
        None => String::new(),
    };
    let updates = updates + &handicap + &cost;
    let quota = quota(work.load.cpu_quota);
    let (sessions, used) = (
        counted(work.load.sessions, "session"),
        ByteSize(work.sga.bytes_used_by_rows()),
    );
    let sga = sga(work);
    format!(
        "{sessions}{caging}{quota}{updates}{rows}, on {place}; {sga}; reads use some {used} of its \
         lines"
    )
}

fn quota(cpus: Option<u32>) -> String {
    match cpus {
        Some(cpus) => format!(", a quota of {}", counted(cpus, "CPU")),
        None => String::new(),
    }
}

fn own_memory(work: &OwnMemoryWork, place: &str) -> String {
    let own = &work.own;
    let facts = own.load.facts();
    let load = &work.instance.load;
    let who = format!(
        "{} {}{}, on {place}",
        counted(load.sessions, "session"),
        facts.does,
        quota(load.cpu_quota)
    );
    let memory = match facts.memory {
        SessionMemory::None => return who,
        SessionMemory::Private => "private memory",
        SessionMemory::File => "a file",
    };
    let memory = format!(
        "{memory} of {} each, {}",
        ByteSize(own.bytes),
        allocated(&own.allocation)
    );
    match facts.reads_rows {
        true => format!("{who}; {memory}; {}", sga(&work.instance)),
        false => format!("{who}; {memory}"),
    }
}

fn parallel_scan(work: &ParallelScan, place: &str) -> String {
    let stealing = match work.stealing {
        Stealing::Off => "each its own granules only",
        Stealing::AfterLocal => "each its own granules first",
        Stealing::Free => "each any granule",
    };
    let workers = counted(work.instance.load.sessions, "worker");
    let sga = sga(&work.instance);
    format!("{workers}, {stealing}, on {place}; {sga}")
}

/// Returns "SGA of 1 GiB in 2 MiB pages, a memfd bound to node 0, 4 GiB of data".
fn sga(work: &LogicalReads) -> String {
    let allocation = allocated(&work.sga.allocation);
    let backing = match work.sga.backing {
        Backing::Sysv => "System V segment",
        Backing::Memfd => "memfd",
        Backing::Shm => "file in /dev/shm",
    };
    let data = match work.load.data_bytes {
        Some(bytes) => format!(", {} of data", ByteSize(bytes)),
        None => String::new(),
    };
    format!(
        "SGA of {} in {} pages, a {backing} {allocation}{data}",
        ByteSize(work.sga.cache_bytes),
        ByteSize(work.sga.page_bytes),
    )
}

fn server(kind: ServerKind, work: &ServerReads, place: &str) -> String {
    let (sga, load) = (&work.reads.sga, &work.reads.load);
    let quota = quota(work.cpu_quota);
    let prewarm = work.prewarm_cpus.as_ref();
    let prewarm = prewarm.map_or(String::new(), |cpus| {
        format!(", prewarmed on {}", ids("CPU", cpus))
    });
    let moved = work.moved_to.as_ref();
    let moved = moved.map_or(String::new(), |to| {
        format!(", then moved: {}", allocated(to))
    });
    let settings = work.settings.iter();
    let settings: Vec<String> = settings
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let settings = match &settings[..] {
        [] => String::new(),
        settings => format!("; started with {}", settings.join(" ")),
    };
    format!(
        "{} of {}{quota}, on {place}; {} in {} of {} pages, {}{prewarm}{moved}{settings}",
        counted(load.sessions, "session"),
        kind.name(),
        ByteSize(sga.cache_bytes),
        kind.cache(),
        ByteSize(sga.page_bytes),
        allocated(&sga.allocation),
    )
}

fn command(work: &CommandWork, place: &str) -> String {
    let number = match &work.number {
        NumberPlace::Last => "the last number it prints".to_string(),
        NumberPlace::Line(line) => format!("the number on line {line}"),
        NumberPlace::Regex(expression) => format!("what {expression} matched last"),
        NumberPlace::Json(pointer) => format!("field {pointer} of its document"),
        NumberPlace::JsonLines(pointer) => format!("the mean of field {pointer} of its lines"),
        NumberPlace::Csv(column) => format!("the mean of its column {column}"),
    };
    let number = match &work.between {
        None => number,
        Some(Between { begin, end }) => {
            format!("{number}, by the seconds between lines with {begin} and {end}")
        }
    };
    let placed = match &work.server {
        None => work.command.clone(),
        Some(server) => server.command.clone(),
    };
    let load = work.server.as_ref().map_or(String::new(), |server| {
        let at = server.client_cpus.as_ref();
        let at = at.map_or(String::new(), |cpus| format!(" on {}", ids("CPU", cpus)));
        format!("; `{}` as its load{at}", work.command)
    });
    format!(
        "`{placed}`{}, on {place}, memory {}{load}; {number}, in {}",
        quota(work.cpu_quota),
        allocated(&work.allocation),
        work.unit,
    )
}

/// Describes the requested allocation.
fn allocated(allocation: &Allocation) -> String {
    match allocation {
        Allocation::OsDefault => "placed by the kernel".to_string(),
        Allocation::Interleave(nodes) => format!("interleaved over {}", ids("node", nodes)),
        Allocation::WeightedInterleave(nodes) => {
            format!("interleaved by weight over {}", ids("node", nodes))
        }
        Allocation::Bind(nodes) => format!("bound to {}", ids("node", nodes)),
        Allocation::Prefer(node) => format!("preferring node {node}"),
        Allocation::PerNode(nodes) => format!("with a pool on each of {}", ids("node", nodes)),
    }
}

fn imported(work: &ImportedWork) -> String {
    let files = match work.files.as_slice() {
        [file] => file.clone(),
        files => counted(files.len(), "file"),
    };
    format!("not known, for it was read from {files}")
}

fn memory_latency(work: &MemoryLatency, place: &str) -> String {
    let groups = match work.by_tlb_groups {
        true => "in groups that the TLB holds",
        false => "all over, page walks included",
    };
    let awake = match work.awake_cpus.is_empty() {
        true => String::new(),
        false => format!("; {} kept busy", ids("CPU", &work.awake_cpus)),
    };
    format!(
        "a chase of pointers through {} in {}, {groups}, on {place}, made by CPU {}; {} \
         of {} µs{awake}",
        ByteSize(work.working_set_bytes),
        pages(work.page_kind),
        work.home_cpu,
        counted(work.windows, "window"),
        work.window_ns / 1000,
    )
}

fn depth_curve(work: &DepthCurve, place: &str) -> String {
    format!(
        "chases through working sets up to {} in {}, on {place}, made by CPU {}",
        ByteSize(work.bytes_max),
        pages(work.page_kind),
        work.home_cpu,
    )
}

fn line_transfers(work: &LineTransfers, place: &str) -> String {
    format!(
        "a cache line to and fro between any two of {place}; {} of {}",
        counted(work.windows, "window"),
        counted(work.round_trips, "round trip"),
    )
}

fn loaded_latency(work: &LoadedLatency, place: &str) -> String {
    let load = match work.load.threads.is_empty() {
        true => "without load".to_string(),
        false => format!("under load: {}, pause {}", stream(&work.load), work.delay),
    };
    format!("{}; {load}", memory_latency(&work.chase, place))
}

fn stream(work: &StreamWork) -> String {
    let cpus: model::CpuSet = work.threads.iter().map(|thread| thread.cpu).collect();
    let mut places: Vec<String> = Vec::new();
    for thread in &work.threads {
        let place = match &thread.allocation {
            Allocation::Bind(nodes) => format!("on {}", ids("node", nodes)),
            other => allocated(other),
        };
        if !places.contains(&place) {
            places.push(place);
        }
    }
    format!(
        "{} ({}) by a thread on each of {}, each through {} in {} {}",
        work.kernel.name(),
        work.simd,
        ids("CPU", &cpus),
        ByteSize(work.bytes_per_thread),
        pages(work.page_kind),
        places.join(" or "),
    )
}

fn pages(kind: Option<PageKind>) -> &'static str {
    kind.map_or("the largest pages available", PageKind::meaning)
}
