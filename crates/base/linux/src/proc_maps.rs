//! `/proc/PID/maps`: the mappings of a process and the object behind each
//! (`proc_pid_maps(5)`).

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::mapping::{hexadecimal, is_of_sysv};
use crate::{Error, Root, TextFile, ipc_namespace, procmap_query};

pub use crate::mapping::{Mapping, ObjectId};

/// The readable part of a maps file.
#[derive(Debug, Default)]
pub struct Mappings {
    /// The mappings up to the first line that is malformed.
    pub list: Vec<Mapping>,
    /// What is wrong with that line, if there is one: the file was cut, or is not a maps file.
    pub complaint: Option<Error>,
}

/// Reads the mappings of process `pid`; none for a kernel thread.
///
/// # Errors
/// When the process is gone or may not be read.
pub fn read(root: &Root, pid: u32) -> Result<Mappings, Error> {
    let mut mappings = parse(&root.read_lossy(&format!("proc/{pid}/maps"))?);
    number_by_namespace(root, pid, &mut mappings.list);
    Ok(mappings)
}

/// Assigns the System V segments to the IPC namespace of the process. That is wrong only if the
/// process has left the namespace in which it attached them.
fn number_by_namespace(root: &Root, pid: u32, mappings: &mut [Mapping]) {
    let mut segments = mappings
        .iter_mut()
        .filter(|mapping| mapping.object.is_sysv)
        .peekable();
    if segments.peek().is_some() {
        let namespace = ipc_namespace::of_process(root, pid);
        segments.for_each(|segment| segment.object.ipc_namespace = namespace);
    }
}

/// Reads only the mappings of shared objects of process `pid`. This is faster than reading all
/// mappings where the kernel can be queried for them (Linux 6.11).
///
/// # Errors
/// As for [`read`].
pub fn read_shared(root: &Root, pid: u32) -> Result<Mappings, Error> {
    /// Whether the kernel has refused: it does so for every process.
    static IS_REFUSED: AtomicBool = AtomicBool::new(false);
    if root.is_live() && !IS_REFUSED.load(Ordering::Relaxed) {
        let path = root.path(&format!("proc/{pid}/maps"));
        let asked = File::open(&path).and_then(|file| procmap_query::shared(&file));
        if let Some(mut list) = asked.map_err(|cause| Error::Read { path, cause })? {
            number_by_namespace(root, pid, &mut list);
            let complaint = None;
            return Ok(Mappings { list, complaint });
        }
        IS_REFUSED.store(true, Ordering::Relaxed);
    }
    let mut mappings = read(root, pid)?;
    mappings
        .list
        .retain(|mapping| mapping.is_shared && mapping.has_object());
    Ok(mappings)
}

/// Parses a whole file.
pub fn parse(file: &TextFile) -> Mappings {
    let mut mappings = Mappings::default();
    for (number, line) in file.lines() {
        match parse_line(line) {
            Some(mapping) => mappings.list.push(mapping),
            None => {
                let expected = "a mapping such as \"1000-2000 rw-s 00000000 00:01 3 /name\"";
                mappings.complaint = Some(file.malformed(number, expected, line));
                break;
            }
        }
    }
    mappings
}

/// `7f13b8600000-7f13b8800000 rw-s 00000000 00:01 3    /SYSV00000000 (deleted)`. Spaces in a path
/// are not escaped, so the path is everything after the inode.
fn parse_line(line: &str) -> Option<Mapping> {
    let mut rest = line;
    let mut field = || {
        let (field, after) = rest.split_once(' ').unwrap_or((rest, ""));
        rest = after;
        field
    };
    let (start, end) = field().split_once('-')?;
    let flags = field().as_bytes();
    let offset = hexadecimal(field())?;
    let (major, minor) = field().split_once(':')?;
    let inode = field().parse().ok()?;
    let name = rest.trim_start();
    let mapping = Mapping {
        start: hexadecimal(start)?,
        end: hexadecimal(end)?,
        is_accessible: flags.starts_with(b"r") || flags[..flags.len().min(3)].contains(&b'w'),
        is_executable: *flags.get(2)? == b'x',
        is_shared: *flags.get(3)? == b's',
        offset,
        object: ObjectId {
            major: u32::try_from(hexadecimal(major)?).ok()?,
            minor: u32::try_from(hexadecimal(minor)?).ok()?,
            inode,
            is_sysv: is_of_sysv(name),
            ipc_namespace: None,
        },
        name: name.to_owned(),
    };
    (mapping.start < mapping.end).then_some(mapping)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> TextFile {
        TextFile::new("/maps", text)
    }

    #[test]
    fn objects_reservations_and_names_with_spaces_are_read() {
        let text = "400000-401000 r-xp 00002000 fe:00 247026                     /usr/bin/my db\n\
                    7f0000000000-7f0000200000 rw-s 00000000 00:01 3    /SYSV00000000 (deleted)\n\
                    7f0001000000-7f0002000000 ---p 00000000 00:00 0 \n";
        let mappings = parse(&file(text));
        assert!(mappings.complaint.is_none());
        let [text, shared, reserved] = &mappings.list[..] else {
            panic!("{mappings:?}")
        };
        assert_eq!(text.name, "/usr/bin/my db");
        assert!(text.is_executable && !text.is_shared && text.is_accessible);
        assert_eq!((text.offset, text.object.major), (0x2000, 0xfe));
        assert!(shared.is_shared && shared.has_object() && shared.bytes() == 2 << 20);
        assert_eq!(shared.object.inode, 3);
        assert!(!reserved.is_accessible && !reserved.has_object() && reserved.name.is_empty());
    }

    #[test]
    fn a_segment_and_anonymous_memory_with_its_number_are_two_objects() {
        let text = "1000-2000 rw-s 00000000 00:01 5    /SYSV00000005 (deleted)\n\
                    2000-3000 rw-s 00000000 00:01 5    /dev/zero (deleted)\n";
        let list = parse(&file(text)).list;
        assert_ne!(list[0].object, list[1].object);
    }

    #[test]
    fn the_first_segment_of_a_namespace_is_an_object_like_any_other() {
        let text = "1000-2000 rw-s 00000000 00:01 0    /SYSV00000000 (deleted)\n\
                    2000-3000 rw-p 00000000 00:00 0    /SYSV00000000\n\
                    3000-4000 rw-p 00000000 00:00 0 \n";
        let list = parse(&file(text)).list;
        let objects: Vec<bool> = list.iter().map(Mapping::has_object).collect();
        assert_eq!(objects, [true, false, false]);
    }

    #[test]
    fn segments_of_two_namespaces_are_two_objects() {
        let directory = tempfile::tempdir().unwrap();
        let line = "1000-2000 rw-s 00000000 00:01 0    /SYSV00000000 (deleted)\n";
        for (pid, namespace) in [(7, Some(1)), (8, Some(1)), (9, Some(2)), (10, None)] {
            let process = directory.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(process.join("ns")).unwrap();
            std::fs::write(process.join("maps"), line).unwrap();
            if let Some(namespace) = namespace {
                std::fs::write(process.join("ns/ipc"), format!("ipc:[{namespace}]")).unwrap();
            }
        }
        let root = Root::at(directory.path()).unwrap();
        let object = |pid| read(&root, pid).unwrap().list[0].object;
        assert_eq!(object(7), object(8));
        assert_ne!(object(7), object(9));
        assert!(object(7).may_be(&object(10)) && object(10).may_be(&object(9)));
        assert!(!object(7).may_be(&object(9)));
    }

    #[test]
    fn a_file_that_was_cut_gives_what_is_whole_and_says_so() {
        let whole = "1000-2000 rw-p 00000000 00:00 0 \n";
        let mappings = parse(&file(&format!("{whole}2000-3000 rw-")));
        assert_eq!(mappings.list.len(), 1);
        let complaint = mappings.complaint.unwrap().to_string();
        assert!(
            complaint.starts_with("/maps, line 2: expected a mapping"),
            "{complaint}"
        );
        for line in [
            "",
            "2000-1000 rw-p 0 0:0 0",
            "+1-2 rw-p 0 0:0 0",
            "1-2 r 0 0:0 0",
        ] {
            assert!(parse_line(line).is_none(), "{line:?}");
        }
    }

    #[test]
    fn this_process_has_its_program_mapped() {
        let mappings = read(&Root::live(), std::process::id()).unwrap();
        assert!(mappings.complaint.is_none());
        assert!(
            mappings
                .list
                .iter()
                .any(|mapping| mapping.is_executable && mapping.has_object())
        );
    }

    #[test]
    fn ten_thousand_mappings_are_read() {
        let line = |at: u64| {
            format!(
                "{:x}-{:x} rw-p 00000000 00:00 0 \n",
                at << 12,
                (at + 1) << 12
            )
        };
        let text: String = (1..=10_000).map(|at| line(2 * at)).collect();
        assert_eq!(parse(&file(&text)).list.len(), 10_000);
    }

    #[test]
    fn no_text_panics() {
        testing::any_text("\\PC{0,200}", &|text| {
            parse(&file(text));
        });
    }

    #[test]
    fn no_line_like_text_panics() {
        testing::any_text(
            "[0-9a-f]{0,17}-[0-9a-f]{0,17} [rwxps-]{0,5} [0-9a-f]{0,17} \
                     [0-9a-f:]{0,9} [0-9]{0,21}( /.{0,9})?",
            &|text| {
                parse(&file(text));
            },
        );
    }
}
