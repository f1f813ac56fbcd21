//! Records of perf_event_open(2) as the kernel writes them into a ring buffer: page faults, and
//! what is needed to say of which process and of which object each is. The bytes are hostile: a
//! record that is not what was asked for is counted, and never a panic.

use crate::mapping::{Mapping, ObjectId, is_of_sysv};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// When: `CLOCK_MONOTONIC` in ns.
    pub time_ns: u64,
    /// The CPU that it happened on.
    pub cpu: u32,
    /// What.
    pub happening: Happening,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// A process touched a page that was not in its page table, or not writable there.
    Fault {
        /// The process.
        pid: u32,
        /// The address.
        address: u64,
    },
    /// A process has a new mapping; what was mapped there before is gone.
    Mapped {
        /// The process.
        pid: u32,
        /// The mapping.
        mapping: Mapping,
        /// Whether its pages come from a huge-page pool.
        is_huge: bool,
    },
    /// A process or a thread began.
    Forked {
        /// The process.
        pid: u32,
        /// The process that made it; the same for a thread.
        parent: u32,
    },
    /// A thread of a process has a new name.
    Named {
        /// The process.
        pid: u32,
        /// The name (`comm`).
        name: String,
        /// Whether that is because it executes another program: its mappings are gone.
        is_exec: bool,
        /// Whether it is the first thread, whose name is that of the process.
        is_of_process: bool,
    },
    /// A thread of a process ended.
    Ended {
        /// The process.
        pid: u32,
    },
    /// The ring buffer was full.
    Lost {
        /// How many records were dropped.
        records: u64,
    },
}

/// Types of records (include/uapi/linux/perf_event.h, `enum perf_event_type`).
const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const MMAP2: u32 = 10;

/// `PERF_RECORD_MISC_COMM_EXEC`.
const COMM_EXEC: u16 = 1 << 13;

/// `MAP_SHARED` and `MAP_HUGETLB` in a record of a mapping (kernel/events/core.c,
/// `perf_event_mmap_event`).
const MAP_SHARED: u32 = 0x1;
const MAP_HUGETLB: u32 = 0x4_0000;

/// `PROT_READ | PROT_WRITE | PROT_EXEC`, and `PROT_EXEC` alone.
const PROT_ANY: u32 = 7;
const PROT_EXEC: u32 = 4;

/// Length of `struct perf_event_header`.
pub(crate) const HEADER_BYTES: usize = 8;

/// What every record but a sample ends with, since `sample_id_all` is set: pid and tid, time, CPU.
const IDENTITY_BYTES: usize = 24;

/// The header of a record: its type, flags, and length with the header.
pub(crate) struct Header {
    kind: u32,
    misc: u16,
    pub(crate) bytes: usize,
}

impl Header {
    /// Reads the header; `None` if there is none at the beginning of these bytes.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let header = Header {
            kind: fields.u32()?,
            misc: fields.u16()?,
            bytes: usize::from(fields.u16()?),
        };
        (header.bytes >= HEADER_BYTES).then_some(header)
    }
}

/// What became of a record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// It was understood.
    Record(Record),
    /// It is of a type that says nothing here.
    Other,
    /// It is too short for its type.
    Malformed,
}

/// Reads the record behind `header`; `body` is what follows the header.
pub(crate) fn read(header: &Header, body: &[u8]) -> Read {
    let record = match header.kind {
        SAMPLE => sample(body),
        MMAP2 => mapped(body),
        FORK | EXIT => task(header.kind, body),
        COMM => named(header.misc, body),
        LOST => lost(body),
        _ => return Read::Other,
    };
    record.map_or(Read::Malformed, Read::Record)
}

/// ```text
/// u32 pid, tid; u64 time; u64 addr; u32 cpu, res;
/// ```
fn sample(body: &[u8]) -> Option<Record> {
    let mut fields = Fields(body);
    let (pid, _tid) = (fields.u32()?, fields.u32()?);
    let (time_ns, address) = (fields.u64()?, fields.u64()?);
    Some(Record {
        time_ns,
        cpu: fields.u32()?,
        happening: Happening::Fault { pid, address },
    })
}

/// ```text
/// u32 pid, tid; u64 addr, len, pgoff; u32 maj, min; u64 ino, ino_generation;
/// u32 prot, flags; char filename[]; struct sample_id
/// ```
fn mapped(body: &[u8]) -> Option<Record> {
    let (mut fields, time_ns, cpu) = with_identity(body)?;
    let (pid, _tid) = (fields.u32()?, fields.u32()?);
    let (start, bytes, offset) = (fields.u64()?, fields.u64()?, fields.u64()?);
    let (major, minor) = (fields.u32()?, fields.u32()?);
    let (inode, _generation) = (fields.u64()?, fields.u64()?);
    let (protection, flags) = (fields.u32()?, fields.u32()?);
    let name = fields.text();
    let end = start.checked_add(bytes).filter(|end| start < *end)?;
    // The kernel's word for memory without an object.
    let name = if name == "//anon" {
        String::new()
    } else {
        name
    };
    let mapping = Mapping {
        start,
        end,
        is_accessible: protection & PROT_ANY != 0,
        is_executable: protection & PROT_EXEC != 0,
        is_shared: flags & MAP_SHARED != 0,
        offset,
        object: ObjectId {
            major,
            minor,
            inode,
            is_sysv: is_of_sysv(&name),
            ipc_namespace: None,
        },
        name,
    };
    Some(Record {
        time_ns,
        cpu,
        happening: Happening::Mapped {
            pid,
            mapping,
            is_huge: flags & MAP_HUGETLB != 0,
        },
    })
}

/// ```text
/// u32 pid, ppid; u32 tid, ptid; u64 time; struct sample_id
/// ```
fn task(kind: u32, body: &[u8]) -> Option<Record> {
    let (mut fields, time_ns, cpu) = with_identity(body)?;
    let (pid, parent) = (fields.u32()?, fields.u32()?);
    let happening = match kind {
        FORK => Happening::Forked { pid, parent },
        _ => Happening::Ended { pid },
    };
    Some(Record {
        time_ns,
        cpu,
        happening,
    })
}

/// ```text
/// u32 pid, tid; char comm[]; struct sample_id
/// ```
fn named(misc: u16, body: &[u8]) -> Option<Record> {
    let (mut fields, time_ns, cpu) = with_identity(body)?;
    let (pid, tid) = (fields.u32()?, fields.u32()?);
    let happening = Happening::Named {
        pid,
        name: fields.text(),
        is_exec: misc & COMM_EXEC != 0,
        is_of_process: pid == tid,
    };
    Some(Record {
        time_ns,
        cpu,
        happening,
    })
}

/// ```text
/// u64 id; u64 lost; struct sample_id
/// ```
fn lost(body: &[u8]) -> Option<Record> {
    let (mut fields, time_ns, cpu) = with_identity(body)?;
    let (_id, records) = (fields.u64()?, fields.u64()?);
    Some(Record {
        time_ns,
        cpu,
        happening: Happening::Lost { records },
    })
}

/// Splits off the end of a record: `u32 pid, tid; u64 time; u32 cpu, res`.
fn with_identity(body: &[u8]) -> Option<(Fields<'_>, u64, u32)> {
    let at = body.len().checked_sub(IDENTITY_BYTES)?;
    let (front, end) = body.split_at(at);
    let mut fields = Fields(end);
    let (_pid, _tid) = (fields.u32()?, fields.u32()?);
    Some((Fields(front), fields.u64()?, fields.u32()?))
}

/// Numbers in the byte order of this machine, one after the other.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const BYTES: usize>(&mut self) -> Option<[u8; BYTES]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_ne_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_ne_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_ne_bytes)
    }

    /// What is left, up to the first zero byte.
    fn text(&self) -> String {
        let end = self.0.iter().position(|byte| *byte == 0);
        String::from_utf8_lossy(&self.0[..end.unwrap_or(self.0.len())]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header(kind: u32, misc: u16, body: &[u8]) -> Header {
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend(misc.to_ne_bytes());
        bytes.extend(((body.len() + HEADER_BYTES) as u16).to_ne_bytes());
        Header::read(&bytes).unwrap()
    }

    fn body(parts: &[&[u8]]) -> Vec<u8> {
        parts.concat()
    }

    fn identity(time_ns: u64, cpu: u32) -> Vec<u8> {
        let zero = 0_u32.to_ne_bytes();
        let cpu = cpu.to_ne_bytes();
        body(&[&zero, &zero, &time_ns.to_ne_bytes(), &cpu, &zero])
    }

    fn happening(kind: u32, misc: u16, body: &[u8]) -> Happening {
        match read(&header(kind, misc, body), body) {
            Read::Record(record) => {
                assert_eq!((record.time_ns, record.cpu), (5, 3));
                record.happening
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_fault_has_its_process_address_time_and_cpu() {
        let (pid, tid, cpu) = (
            7_u32.to_ne_bytes(),
            8_u32.to_ne_bytes(),
            3_u64.to_ne_bytes(),
        );
        let (time, address) = (5_u64.to_ne_bytes(), 0x7000_u64.to_ne_bytes());
        let body = body(&[&pid, &tid, &time, &address, &cpu]);
        let expected = Happening::Fault {
            pid: 7,
            address: 0x7000,
        };
        assert_eq!(happening(SAMPLE, 0, &body), expected);
    }

    #[test]
    fn a_mapping_is_read_as_the_maps_file_shows_it() {
        let (word, long) = (u32::to_ne_bytes, u64::to_ne_bytes);
        let numbers = body(&[
            &word(7),
            &word(7),
            &long(0x7000),
            &long(0x2000),
            &long(0x1000),
            &word(0),
            &word(1),
            &long(42),
            &long(0),
            &word(3),
            &word(MAP_SHARED | MAP_HUGETLB),
        ]);
        let name = b"/SYSV00000000 (deleted)\0";
        let body = body(&[&numbers, name, &identity(5, 3)]);
        let Happening::Mapped {
            pid: 7,
            mapping,
            is_huge: true,
        } = happening(MMAP2, 0, &body)
        else {
            panic!("expected a mapping of process 7");
        };
        let line = "7000-9000 rw-s 00001000 00:01 42    /SYSV00000000 (deleted)\n";
        let expected = crate::proc_maps::parse(&crate::TextFile::new("/maps", line));
        assert_eq!(vec![mapping], expected.list);
    }

    #[test]
    fn a_new_program_is_told_from_a_new_name() {
        let (pid, name) = (7_u32.to_ne_bytes(), b"postgres");
        let body = body(&[&pid, &pid, name, &[0; 8], &identity(5, 3)]);
        for (misc, is_exec) in [(0, false), (COMM_EXEC, true)] {
            let name = "postgres".to_owned();
            let expected = Happening::Named {
                pid: 7,
                name,
                is_exec,
                is_of_process: true,
            };
            assert_eq!(happening(COMM, misc, &body), expected);
        }
    }

    #[test]
    fn processes_that_begin_and_end_and_lost_records_are_read() {
        let (child, parent) = (8_u32.to_ne_bytes(), 7_u32.to_ne_bytes());
        let identity = identity(5, 3);
        let task = body(&[&child, &parent, &child, &parent, &[0; 8], &identity]);
        let (pid, parent) = (8, 7);
        assert_eq!(happening(FORK, 0, &task), Happening::Forked { pid, parent });
        assert_eq!(happening(EXIT, 0, &task), Happening::Ended { pid });
        let lost = body(&[&[0; 8], &9_u64.to_ne_bytes(), &identity]);
        assert_eq!(happening(LOST, 0, &lost), Happening::Lost { records: 9 });
    }

    #[test]
    fn what_is_not_asked_for_says_nothing_and_what_is_short_is_malformed() {
        assert_eq!(read(&header(99, 0, &[]), &[]), Read::Other);
        for kind in [LOST, COMM, EXIT, FORK, SAMPLE, MMAP2] {
            assert_eq!(read(&header(kind, 0, &[0; 16]), &[0; 16]), Read::Malformed);
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(
            kind in 0_u32..20,
            misc: u16,
            body in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let read = read(&header(kind, misc, &body), &body);
            if let Read::Record(record) = read
                && let Happening::Mapped { mapping, .. } = record.happening
            {
                prop_assert!(mapping.start < mapping.end);
            }
        }

        #[test]
        fn no_header_is_shorter_than_itself(bytes in prop::collection::vec(any::<u8>(), 0..16)) {
            if let Some(header) = Header::read(&bytes) {
                prop_assert!(header.bytes >= HEADER_BYTES);
            }
        }
    }
}
