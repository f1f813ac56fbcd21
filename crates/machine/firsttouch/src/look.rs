//! One look: the page faults of a program from its start, or of a running target for some time.

use linux::map_files::MappedObject;
use linux::page_faults::{FaultHappening, FaultRecord, PageFaults, Whose};
use linux::proc_maps::{self, Mapping};
use linux::{Root, SystemCallError, clock, proc_meminfo, proc_stat, sysfs_cpus};
use model::{FirstTouch, Topology, counted};
use residency::instances::{self, InstanceError, Target};

use crate::address_space::AddressSpace;
use crate::blocks::{self, Blocks, GroupTouches};
use crate::processes::Process;
use crate::result;
use crate::tracker::{PageBytesOf, Tracker};
use crate::whereabouts;

/// Bytes of the buffers of all CPUs together, unless one is asked for.
const BUFFERS_BYTES: usize = 512 << 20;

/// The most and the least for one CPU: 8 MiB hold some 200,000 faults, which take a CPU longer than
/// the time between two rounds.
const BUFFER_BYTES_MAX: usize = 8 << 20;
const BUFFER_BYTES_MIN: usize = 64 << 10;

const NS_PER_S: f64 = 1e9;

/// Why a look cannot begin, or has failed.
#[derive(Debug, thiserror::Error)]
pub enum LookError {
    /// The processes could not be found.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// The machine could not be read.
    #[error(transparent)]
    Read(#[from] linux::Error),
    /// None of the processes may be read.
    #[error(
        "no permission to read the mappings of any of the {} of {target}",
        counted(processes, "process")
    )]
    NotPermitted {
        /// The target.
        target: String,
        /// How many there are.
        processes: usize,
    },
    /// The kernel does not record page faults for this user, or at all.
    #[error("cannot record page faults: {0}")]
    Events(#[from] SystemCallError),
}

impl LookError {
    /// Whether a right is missing, rather than the kernel's ability.
    pub fn is_permission(&self) -> bool {
        match self {
            LookError::Events(error) => error.is_permission(),
            LookError::Instance(error) => error.is_permission(),
            LookError::NotPermitted { .. } => true,
            LookError::Read(_) => false,
        }
    }
}

/// A look that goes on.
pub struct Look<'a> {
    root: &'a Root,
    topology: &'a Topology,
    faults: PageFaults,
    tracker: Tracker,
    /// Records that wait for those of other CPUs.
    waiting: Vec<FaultRecord>,
    /// Every record before this time was read.
    read_until_ns: u64,
    gaps: Vec<String>,
    is_of_program: bool,
    /// When it ended.
    ended_ns: Option<u64>,
}

impl<'a> Look<'a> {
    /// Prepares a look at the next program that this process starts: from its exec on.
    /// `buffer_bytes` is for each CPU; `None` chooses.
    ///
    /// # Errors
    /// When the kernel refuses to record page faults.
    pub fn at_next_program(
        root: &'a Root,
        topology: &'a Topology,
        buffer_bytes: Option<usize>,
    ) -> Result<Self, LookError> {
        let faults = prepare(root, Whose::NextProgram, buffer_bytes)?;
        Ok(Look::new(root, topology, faults, true))
    }

    /// The program was started: follows it.
    pub fn follow_program(&mut self, pid: u32, name: &str) {
        let now = clock::monotonic_ns();
        self.tracker.follow(Process::new(pid, name, name, now), &[]);
    }

    /// Begins a look at a running target. Records the whole machine, of which only the target is
    /// kept, so that no process of it begins unseen.
    ///
    /// # Errors
    /// When there is no such target, none of it may be read, or the kernel refuses.
    pub fn at_target(
        root: &'a Root,
        topology: &'a Topology,
        target: &Target,
        buffer_bytes: Option<usize>,
    ) -> Result<Self, LookError> {
        instances::find(root, target)?;
        let faults = prepare(root, Whose::Machine, buffer_bytes)?;
        let mut look = Look::new(root, topology, faults, false);
        look.faults.start()?;
        let mut members = instances::find(root, target)?;
        // A process that begins meanwhile is a child of one that is listed, whose fork is recorded.
        members.sort_by_key(|member| member.stat.pid);
        for member in &members {
            look.follow(member);
        }
        if look.tracker.processes.list.is_empty() && !look.gaps.is_empty() {
            let (target, processes) = (target.to_string(), members.len());
            return Err(LookError::NotPermitted { target, processes });
        }
        look.note_what_is_there();
        Ok(look)
    }

    /// Notes the pages that are in memory already: a later fault there is no first touch.
    fn note_what_is_there(&mut self) {
        for index in 0..self.tracker.segments.list.len() {
            match whereabouts::note_before(self.root, &mut self.tracker, index) {
                Some(without_room) => self.tracker.without_room += without_room,
                None => {
                    let name = &self.tracker.segments.list[index].name;
                    self.gaps.push(format!(
                        "which pages of {name} were there before the look is unknown: some of \
                         its first touches may be later ones"
                    ));
                }
            }
        }
        // The look begins here.
        self.tracker.start_ns = clock::monotonic_ns();
    }

    fn new(root: &'a Root, topology: &'a Topology, faults: PageFaults, program: bool) -> Self {
        let now = clock::monotonic_ns();
        Look {
            root,
            topology,
            faults,
            tracker: Tracker::new(topology, page_bytes_of(root), now),
            waiting: Vec::new(),
            read_until_ns: now,
            gaps: Vec::new(),
            is_of_program: program,
            ended_ns: None,
        }
    }

    fn follow(&mut self, member: &instances::Member) {
        let pid = member.stat.pid;
        let now = clock::monotonic_ns();
        match proc_maps::read(self.root, pid) {
            Ok(mappings) => {
                let threads = proc_stat::threads(self.root, pid).len().max(1);
                let process = Process::new(pid, &member.stat.name, &member.class, now);
                let process = process.known_at(now, threads, AddressSpace::default());
                self.tracker.follow(process, &mappings.list);
            }
            // It has ended.
            Err(_) if !linux::process::exists(pid) => {}
            Err(error) => self
                .gaps
                .push(format!("process {pid} is not followed: {error}")),
        }
    }

    /// Takes what has happened since the last round. To be called every some ms.
    pub fn round(&mut self) {
        let now = clock::monotonic_ns();
        let known = self.waiting.len();
        self.faults.drain(&mut self.waiting);
        for record in &self.waiting[known..] {
            if let FaultHappening::Forked { pid, parent } = record.happening {
                let processes = &mut self.tracker.processes;
                processes.read_early_title(self.root, pid, parent);
            }
        }
        // What a CPU wrote while another was being read may be older than what that one had: only
        // records from before the last round are complete.
        self.waiting.sort_by_key(|record| record.time_ns);
        let until = self.read_until_ns;
        let complete = self.waiting.partition_point(|it| it.time_ns < until);
        for record in self.waiting.drain(..complete) {
            self.tracker.apply(&record);
        }
        self.tracker.processes.read_titles(self.root, now);
        self.read_until_ns = now;
    }

    /// Whether no process of the target is left.
    pub fn has_ended(&self) -> bool {
        self.tracker.processes.running().next().is_none()
    }

    /// Ends the look: what happens from now on is not seen.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn stop(&mut self) -> Result<(), LookError> {
        if self.ended_ns.is_some() {
            return Ok(());
        }
        let stopped = self.faults.stop();
        self.ended_ns = Some(clock::monotonic_ns());
        for _ in 0..2 {
            self.round();
        }
        self.tracker.processes.read_titles(self.root, u64::MAX);
        Ok(stopped?)
    }

    /// Who touched the pages under these blocks first; `None` when the target was not seen to map
    /// their segment.
    pub fn touches_of(&self, blocks: &Blocks) -> Option<Vec<GroupTouches>> {
        blocks::of(&self.tracker, blocks)
    }

    /// Something that could not be found out.
    pub fn note_gap(&mut self, gap: String) {
        self.gaps.push(gap);
    }

    /// Ends the look, and finds where the pages are now.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn finish(mut self, target: &str) -> Result<FirstTouch, LookError> {
        self.stop()?;
        let end = self.ended_ns.unwrap_or(self.tracker.start_ns);
        let lost_events = self.faults.lost()?;
        let segments = result::segments(self.root, &self.tracker);
        let gaps = self.gaps(lost_events);
        let seconds = end.saturating_sub(self.tracker.start_ns) as f64 / NS_PER_S;
        Ok(FirstTouch {
            target: target.to_owned(),
            from_start: self.is_of_program,
            seconds,
            complete: gaps.is_empty(),
            gaps,
            faults: self.tracker.faults,
            lost_events,
            has_kernel_mode: self.faults.has_kernel_mode,
            memory_nodes: self.topology.memory_nodes(),
            processes: result::processes(&self.tracker),
            segments,
            private: result::private(&self.tracker),
            relations: None,
        })
    }

    /// Why figures are incomplete.
    fn gaps(&self, lost_events: u64) -> Vec<String> {
        let mut gaps = self.gaps.clone();
        if lost_events > 0 {
            gaps.push(format!(
                "a full buffer lost {}: shares are lower \
                 bounds (a larger --buffer-kib helps)",
                counted(lost_events, "event")
            ));
        }
        let malformed = self.faults.malformed();
        if malformed > 0 {
            gaps.push(format!(
                "{} of the kernel not understood",
                counted(malformed, "record")
            ));
        }
        if !self.faults.has_kernel_mode {
            gaps.push(
                "touches inside system calls, such as read(2) into a buffer, were not seen: this \
                 user may not record them (kernel.perf_event_paranoid above 1)"
                    .to_owned(),
            );
        }
        if self.tracker.without_room > 0 {
            let faults = self.tracker.without_room;
            gaps.push(format!(
                "pages and faults not counted, {faults} in all: the memory for records is full"
            ));
        }
        if self.tracker.processes.had_too_many || self.tracker.segments.had_too_many {
            gaps.push("there were more processes or segments than are followed".to_owned());
        }
        gaps
    }
}

fn prepare(
    root: &Root,
    whose: Whose<'_>,
    buffer_bytes: Option<usize>,
) -> Result<PageFaults, LookError> {
    let cpus = sysfs_cpus::lists(root)?.online;
    let share = BUFFERS_BYTES / cpus.len().max(1);
    // The largest power of two that is not more.
    let share = 1 << share.max(1).ilog2();
    let chosen = share.clamp(BUFFER_BYTES_MIN, BUFFER_BYTES_MAX);
    let bytes = buffer_bytes.unwrap_or(chosen);
    Ok(PageFaults::prepare(whose, &cpus, bytes)?)
}

/// Asks the object itself for the size of its pages, and takes the kernel's default for huge pages
/// where that is not permitted.
fn page_bytes_of(root: &Root) -> Box<PageBytesOf> {
    let root = root.clone();
    let meminfo = root.read_optional("proc/meminfo").ok().flatten();
    let meminfo = meminfo.and_then(|file| proc_meminfo::Meminfo::parse(&file).ok());
    let huge = meminfo.and_then(|meminfo| meminfo.huge_page_bytes);
    Box::new(move |pid: u32, mapping: &Mapping, is_huge| {
        let base = linux::process::page_bytes();
        let object = MappedObject::open(&root, pid, mapping).ok();
        let of_object = object.and_then(|object| object.huge_page_bytes);
        let by_default = huge.filter(|_| is_huge);
        of_object.or(by_default).unwrap_or(base).max(base)
    })
}
