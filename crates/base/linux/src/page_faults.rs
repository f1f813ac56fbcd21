//! Page faults as they happen, of some processes or of the whole machine (perf_event_open(2),
//! `PERF_COUNT_SW_PAGE_FAULTS`): a software event, so a machine without hardware counters has it,
//! too. With them come the mappings, names, beginnings and ends of the processes, in the order of
//! time, so that nothing has to be read from /proc after the fact.
//!
//! The kernel counts a fault only for an access by a program or by a system call that copies to or
//! from its memory (mm/memory.c, `mm_account_fault`). Pages that the kernel itself populates
//! (`MAP_POPULATE`, `MADV_POPULATE_WRITE`, mlock(2), direct I/O) make no event.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use model::CpuSet;

use crate::SystemCallError;
use crate::perf_records::Happening;
use crate::perf_ring::Ring;

pub use crate::perf_records::{Happening as FaultHappening, Record as FaultRecord};

/// `struct perf_event_attr` up to the fields of Linux 4.1 (`PERF_ATTR_SIZE_VER5`), which is what
/// `clockid` needs.
#[repr(C)]
#[derive(Debug, Default)]
struct Attributes {
    kind: u32,
    bytes: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_watermark: u32,
    breakpoint_kind: u32,
    config_more: [u64; 2],
    branch_sample_type: u64,
    sample_registers_user: u64,
    sample_stack_user: u32,
    clock_id: i32,
    sample_registers_interrupt: u64,
    aux_watermark: u32,
    sample_stack_max: u16,
    reserved: u16,
}

/// `PERF_ATTR_SIZE_VER5` (include/uapi/linux/perf_event.h).
const ATTRIBUTES_BYTES: u32 = 112;
const _: () = assert!(size_of::<Attributes>() == ATTRIBUTES_BYTES as usize);

/// `PERF_TYPE_SOFTWARE`, `PERF_COUNT_SW_PAGE_FAULTS`.
const SOFTWARE: u32 = 1;
const PAGE_FAULTS: u64 = 2;

/// `PERF_FORMAT_LOST` (Linux 6.0): the count of an event is read with that of its lost records.
const FORMAT_LOST: u64 = 1 << 4;

/// `PERF_SAMPLE_TID | _TIME | _ADDR | _CPU`.
const SAMPLE_TYPE: u64 = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 7;

/// Bits of the flags, in the order of `struct perf_event_attr`.
const DISABLED: u64 = 1 << 0;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const MMAP: u64 = 1 << 8;
const COMM: u64 = 1 << 9;
const ENABLE_ON_EXEC: u64 = 1 << 12;
const TASK: u64 = 1 << 13;
const WATERMARK: u64 = 1 << 14;
const MMAP_DATA: u64 = 1 << 17;
const SAMPLE_ID_ALL: u64 = 1 << 18;
const MMAP2: u64 = 1 << 23;
const COMM_EXEC: u64 = 1 << 24;
const USE_CLOCK_ID: u64 = 1 << 25;

/// `PERF_FLAG_FD_CLOEXEC`.
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

/// `PERF_EVENT_IOC_ENABLE`, `PERF_EVENT_IOC_DISABLE`, `PERF_EVENT_IOC_SET_OUTPUT`.
const ENABLE: libc::c_ulong = 0x2400;
const DISABLE: libc::c_ulong = 0x2401;
const SET_OUTPUT: libc::c_ulong = 0x2405;

/// The smallest buffer that is tried.
const BUFFER_BYTES_MIN: usize = 4096;

/// Whose faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose<'a> {
    /// Those of the next program that this process starts, from its exec on, and of all that it
    /// starts.
    NextProgram,
    /// Those of these threads and of all that they start.
    Threads(&'a [u32]),
    /// Those of all processes of this machine.
    Machine,
}

/// Page faults that are being recorded.
#[derive(Debug)]
pub struct PageFaults {
    /// One buffer for each CPU.
    rings: Vec<Ring>,
    events: Vec<OwnedFd>,
    /// Whether faults of system calls are recorded, as when read(2) fills a buffer; otherwise only
    /// those of the programs themselves.
    pub has_kernel_mode: bool,
    /// Size of the buffer of each CPU.
    pub buffer_bytes: usize,
    /// Whether the kernel counts lost records, rather than only reporting them with the next one.
    counts_lost: bool,
    /// Records that were reported as lost.
    reported_lost: u64,
    /// Records that were not understood.
    malformed: u64,
}

/// Length of the answer to read(2) of an event: its count, and that of its lost records.
const COUNTS_BYTES: usize = 16;

impl PageFaults {
    /// Prepares the recording on these CPUs, with a buffer of `buffer_bytes` for each, or less if
    /// this user may not lock so much. [`PageFaults::start`] starts it, unless the exec of the next
    /// program does.
    ///
    /// # Errors
    /// `EACCES` or `EPERM` without the right (`kernel.perf_event_paranoid`, `CAP_PERFMON`, a
    /// seccomp filter); `ENOSYS` when the kernel has no perf events; `EMFILE` when descriptors have
    /// run out.
    pub fn prepare(
        whose: Whose<'_>,
        cpus: &CpuSet,
        buffer_bytes: usize,
    ) -> Result<Self, SystemCallError> {
        let mut faults = PageFaults {
            rings: Vec::new(),
            events: Vec::new(),
            has_kernel_mode: true,
            buffer_bytes: buffer_bytes.next_power_of_two().max(BUFFER_BYTES_MIN),
            counts_lost: true,
            reported_lost: 0,
            malformed: 0,
        };
        loop {
            match faults.add(whose, cpus) {
                Ok(()) => return Ok(faults),
                // Without the right to see the kernel, the programs alone.
                Err(error) if error.is_permission() && faults.has_kernel_mode => {
                    faults.has_kernel_mode = false;
                }
                // A kernel before 6.0.
                Err(error) if error.errno() == Some(libc::EINVAL) && faults.counts_lost => {
                    faults.counts_lost = false;
                }
                Err(error) => return Err(error),
            }
            faults.rings.clear();
            faults.events.clear();
        }
    }

    /// Opens all events.
    fn add(&mut self, whose: Whose<'_>, cpus: &CpuSet) -> Result<(), SystemCallError> {
        let attributes = attributes(whose, self.has_kernel_mode, self.counts_lost);
        let tasks: Vec<i32> = match whose {
            Whose::NextProgram => vec![0],
            Whose::Machine => vec![-1],
            Whose::Threads(threads) => threads.iter().map(|thread| *thread as i32).collect(),
        };
        for cpu in cpus.iter() {
            self.add_cpu(&attributes, cpu.0 as i32, &tasks)?;
        }
        if self.rings.is_empty() {
            let cause = io::Error::from_raw_os_error(libc::ESRCH);
            return Err(SystemCallError::with(CALL, "no thread is left", cause));
        }
        Ok(())
    }

    /// Opens the events of all tasks on one CPU; they share a buffer.
    fn add_cpu(
        &mut self,
        attributes: &Attributes,
        cpu: i32,
        tasks: &[i32],
    ) -> Result<(), SystemCallError> {
        let mut first: Option<usize> = None;
        for task in tasks {
            let event = match open(attributes, *task, cpu) {
                Ok(event) => event,
                Err(error) if is_gone(&error) => continue,
                Err(error) => return Err(error),
            };
            match first {
                Some(first) => set_output(event.as_fd(), self.events[first].as_fd())?,
                None => {
                    let ring = self.map(event.as_fd())?;
                    self.rings.push(ring);
                    first = Some(self.events.len());
                }
            }
            self.events.push(event);
        }
        Ok(())
    }

    /// Maps a buffer: the first decides how large all are.
    fn map(&mut self, event: BorrowedFd<'_>) -> Result<Ring, SystemCallError> {
        loop {
            match Ring::map(event, self.buffer_bytes) {
                Err(error) if is_too_much(&error) && self.buffer_bytes > BUFFER_BYTES_MIN => {
                    self.buffer_bytes /= 2;
                }
                mapped => return mapped,
            }
        }
    }

    /// Starts the recording.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn start(&self) -> Result<(), SystemCallError> {
        self.control(ENABLE)
    }

    /// Stops the recording; what was recorded can still be read.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn stop(&self) -> Result<(), SystemCallError> {
        self.control(DISABLE)
    }

    fn control(&self, request: libc::c_ulong) -> Result<(), SystemCallError> {
        for event in &self.events {
            // SAFETY: the request takes no memory.
            if unsafe { libc::ioctl(event.as_raw_fd(), request as _, 0) } != 0 {
                let request = format!("a perf event, {request:#x}");
                return Err(SystemCallError::last("ioctl", request));
            }
        }
        Ok(())
    }

    /// Appends what was recorded since the last call: in the order of time for each CPU, and not
    /// sorted over CPUs.
    pub fn drain(&mut self, records: &mut Vec<FaultRecord>) {
        for ring in &mut self.rings {
            let lost = &mut self.reported_lost;
            self.malformed += ring.drain(|record| match record.happening {
                Happening::Lost { records } => *lost = lost.saturating_add(records),
                _ => records.push(record),
            });
        }
    }

    /// How many records the kernel dropped so far because a buffer was full. Before Linux 6.0 those
    /// after the last record that was written are missing.
    ///
    /// # Errors
    /// When the kernel refuses to say.
    pub fn lost(&self) -> Result<u64, SystemCallError> {
        let mut lost = 0_u64;
        if self.counts_lost {
            for event in &self.events {
                lost = lost.saturating_add(lost_of(event.as_fd())?);
            }
        }
        Ok(lost.max(self.reported_lost))
    }

    /// How many records were not understood.
    pub fn malformed(&self) -> u64 {
        self.malformed
    }
}

/// The name of the system call.
const CALL: &str = "perf_event_open";

fn attributes(whose: Whose<'_>, has_kernel_mode: bool, counts_lost: bool) -> Attributes {
    let scope = match whose {
        Whose::NextProgram => INHERIT | ENABLE_ON_EXEC,
        Whose::Threads(_) => INHERIT,
        Whose::Machine => 0,
    };
    let mode = match has_kernel_mode {
        true => 0,
        false => EXCLUDE_KERNEL,
    };
    let processes = MMAP | MMAP_DATA | MMAP2 | COMM | COMM_EXEC | TASK;
    let form = WATERMARK | SAMPLE_ID_ALL | USE_CLOCK_ID;
    Attributes {
        kind: SOFTWARE,
        bytes: ATTRIBUTES_BYTES,
        config: PAGE_FAULTS,
        sample_period: 1,
        sample_type: SAMPLE_TYPE,
        read_format: if counts_lost { FORMAT_LOST } else { 0 },
        flags: DISABLED | EXCLUDE_HYPERVISOR | scope | mode | processes | form,
        // Nobody is woken: the buffers are read at intervals.
        wakeup_watermark: u32::MAX,
        clock_id: libc::CLOCK_MONOTONIC,
        ..Attributes::default()
    }
}

fn open(attributes: &Attributes, task: i32, cpu: i32) -> Result<OwnedFd, SystemCallError> {
    // SAFETY: the kernel reads as many bytes of the structure as it says it has.
    let descriptor = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            std::ptr::from_ref(attributes),
            task,
            cpu,
            -1,
            CLOSE_ON_EXEC,
        )
    };
    if descriptor < 0 {
        let arguments = format!("page faults, task {task}, CPU {cpu}");
        return Err(SystemCallError::last(CALL, arguments));
    }
    // SAFETY: the descriptor is new and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor as i32) })
}

/// Whether a thread has ended, or a CPU was taken offline, since it was listed.
fn is_gone(error: &SystemCallError) -> bool {
    matches!(error.errno(), Some(libc::ESRCH | libc::ENODEV))
}

/// Whether a buffer is too large: for `kernel.perf_event_mlock_kb`, or for the free memory.
fn is_too_much(error: &SystemCallError) -> bool {
    matches!(error.errno(), Some(libc::EPERM | libc::ENOMEM))
}

fn lost_of(event: BorrowedFd<'_>) -> Result<u64, SystemCallError> {
    let mut counts = [0; COUNTS_BYTES];
    match rustix::io::read(event, &mut counts) {
        Ok(COUNTS_BYTES) => {
            let (_, lost) = counts.split_at(COUNTS_BYTES / 2);
            let lost = lost.try_into().map(u64::from_ne_bytes);
            Ok(lost.expect("half of the counts are 8 bytes"))
        }
        Ok(bytes) => {
            let cause = io::Error::from(io::ErrorKind::UnexpectedEof);
            let arguments = format!("a perf event: {bytes} bytes");
            Err(SystemCallError::with("read", arguments, cause))
        }
        Err(cause) => Err(SystemCallError::with("read", "a perf event", cause.into())),
    }
}

fn set_output(event: BorrowedFd<'_>, of: BorrowedFd<'_>) -> Result<(), SystemCallError> {
    // SAFETY: the request takes a descriptor, which is open.
    if unsafe { libc::ioctl(event.as_raw_fd(), SET_OUTPUT as _, of.as_raw_fd()) } != 0 {
        return Err(SystemCallError::last("ioctl", "a perf event, SET_OUTPUT"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf_records::Happening::{Fault, Mapped};
    use crate::process::page_bytes;
    use crate::shared_memory::{Mapping, ObjectKind, SharedMemory};
    use std::io::Read;
    use testing::{Need, not_run};

    const PAGES: usize = 4096;

    /// Records the faults of this thread.
    struct Recorded {
        faults: PageFaults,
        memory: Mapping,
    }

    impl Recorded {
        /// What a kernel, a seccomp filter or a user without the right refuses is not run.
        fn start(test: &str, buffer_bytes: usize) -> Option<Self> {
            let thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
            let cpus = crate::affinity::of_this_thread().unwrap();
            let threads = [thread];
            let faults = match PageFaults::prepare(Whose::Threads(&threads), &cpus, buffer_bytes) {
                Ok(faults) => faults,
                Err(error) => {
                    let need = Need::root_or_kernel(crate::process::is_root());
                    not_run(test, need, &error.to_string());
                    return None;
                }
            };
            faults.start().unwrap();
            let bytes = PAGES * page_bytes() as usize;
            let object = SharedMemory::create(ObjectKind::Memfd, bytes, page_bytes()).unwrap();
            let memory = object.map().unwrap();
            Some(Recorded { faults, memory })
        }

        /// Touches pages, one after the other.
        fn touch(&self, pages: impl Iterator<Item = usize>) {
            for page in pages {
                let address = self.memory.address().cast::<u8>();
                let address = address.wrapping_add(page * page_bytes() as usize);
                // SAFETY: the page lies in the mapping, and only this thread uses it.
                unsafe { address.write_volatile(1) };
            }
        }

        /// The pages of the memory whose faults were seen, in their order, and how many records
        /// were lost.
        fn seen(mut self) -> (Vec<usize>, u64) {
            self.faults.stop().unwrap();
            let mut records = Vec::new();
            self.faults.drain(&mut records);
            assert_eq!(self.faults.malformed(), 0);
            let lost = self.faults.lost().unwrap();
            records.sort_by_key(|record| record.time_ns);
            let start = self.memory.address().addr() as u64;
            let ours = |record: &FaultRecord| match &record.happening {
                Fault { pid, address } if *pid == std::process::id() => {
                    let page = address.checked_sub(start)? / page_bytes();
                    Some(page as usize).filter(|page| *page < PAGES)
                }
                _ => None,
            };
            let pages = records.iter().filter_map(ours).collect();
            let is_mapping = |record: &&FaultRecord| match &record.happening {
                Mapped { mapping, .. } => mapping.start == start && mapping.is_shared,
                _ => false,
            };
            if lost == 0 {
                assert_eq!(records.iter().filter(is_mapping).count(), 1);
            }
            (pages, lost)
        }
    }

    #[test]
    fn every_page_that_is_touched_is_seen_once_and_in_its_order() {
        let test = "every_page_that_is_touched_is_seen_once_and_in_its_order";
        let Some(recorded) = Recorded::start(test, 1 << 20) else {
            return;
        };
        let expected: Vec<usize> = (0..PAGES).rev().step_by(3).collect();
        recorded.touch(expected.iter().copied());
        recorded.touch(expected.iter().copied());
        assert_eq!(recorded.seen(), (expected, 0));
    }

    #[test]
    fn a_system_call_that_fills_memory_is_seen_and_what_the_kernel_populates_is_not() {
        let test = "a_system_call_that_fills_memory_is_seen_and_what_the_kernel_populates_is_not";
        let Some(recorded) = Recorded::start(test, 1 << 20) else {
            return;
        };
        let expected = match recorded.faults.has_kernel_mode {
            true => vec![0, 1, 2, 3],
            false => Vec::new(),
        };
        let address = recorded.memory.address().cast::<u8>();
        // SAFETY: four pages of the mapping, which only this thread uses.
        let pages = unsafe { std::slice::from_raw_parts_mut(address, 4 * page_bytes() as usize) };
        let mut zeroes = std::fs::File::open("/dev/zero").unwrap();
        zeroes.read_exact(pages).unwrap();
        recorded.memory.populate_for_writing().unwrap();
        recorded.touch(0..PAGES);
        assert_eq!(recorded.seen(), (expected, 0));
    }

    #[test]
    fn what_a_full_buffer_drops_is_counted() {
        let test = "what_a_full_buffer_drops_is_counted";
        let Some(recorded) = Recorded::start(test, 4096) else {
            return;
        };
        recorded.touch(0..PAGES);
        let (pages, lost) = recorded.seen();
        assert!(
            pages.len() < PAGES && lost > 0,
            "{} seen, {lost} lost",
            pages.len()
        );
    }

    #[test]
    fn a_thread_that_is_gone_has_no_faults() {
        let cpus = crate::affinity::of_this_thread().unwrap();
        let none = PageFaults::prepare(Whose::Threads(&[i32::MAX as u32]), &cpus, 4096);
        assert!(none.is_err());
    }
}
