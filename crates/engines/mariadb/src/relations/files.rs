//! The tablespaces of a server: the files of its data directory, with their ids and names. They are
//! files of whoever started a process of that name, so only regular ones are opened.

use std::collections::BTreeMap;
use std::os::unix::fs::FileExt;
use std::path::Path;

use linux::plain_file;

use super::page::{self, HEADER_BYTES};
use server::Error;

/// `SRV_TMP_SPACE_ID` (srv0srv.h): temporary tables, whose file has no first page until it is
/// written.
const TEMPORARY: u32 = 0xFFFF_FFFE;
/// The most files of a directory, and in all: others are tables without a name.
const FILES_MAX: usize = 1 << 20;

/// A tablespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Space {
    /// The database; `None` for those of the server itself.
    pub database: Option<String>,
    /// The table, or what else it is for.
    pub name: String,
    /// Its pages.
    pub pages: u64,
}

/// The tablespaces by id, and the size of their pages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Spaces {
    pub by_id: BTreeMap<u32, Space>,
    pub page_bytes: u64,
}

/// Reads the tablespaces in a data directory.
///
/// # Errors
/// When it cannot be listed, or has no system tablespace.
pub(super) fn spaces(directory: &Path) -> Result<Spaces, Error> {
    let reading = || format!("reading the tablespaces in {}", directory.display());
    let mut spaces = Spaces::default();
    let mut databases = Vec::new();
    let mut first = None;
    for entry in observed::entries(directory, FILES_MAX).map_err(Error::io(reading()))? {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            databases.push((entry.path(), name));
        } else if name == "ibdata1" {
            first = header(&entry.path());
        } else if name.starts_with("undo") {
            spaces.add(&entry.path(), None, name);
        }
    }
    let page_bytes = first
        .as_ref()
        .and_then(|(header, _)| page::page_bytes(header));
    spaces.page_bytes = page_bytes.ok_or_else(|| {
        Error::answer(
            reading(),
            "the system tablespace ibdata1",
            "none that numalab knows",
        )
    })?;
    // The system tablespace may have several files, of which only the first has its id.
    for (prefix, id, name) in [
        ("ibdata", 0, "system tablespace"),
        ("ibtmp", TEMPORARY, "temporary tables"),
    ] {
        let bytes = bytes_of(directory, prefix);
        let pages = bytes / spaces.page_bytes;
        let space = Space {
            database: None,
            name: name.to_owned(),
            pages,
        };
        spaces.by_id.insert(id, space);
    }
    for (path, database) in databases {
        // A database that is dropped in the meantime has no tables.
        for entry in observed::entries(&path, FILES_MAX).into_iter().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some(table) = name.strip_suffix(".ibd")
                && spaces.by_id.len() < FILES_MAX
            {
                let table = decoded(table);
                spaces.add(&entry.path(), Some(decoded(&database)), table);
            }
        }
    }
    Ok(spaces)
}

impl Spaces {
    /// Adds what the server says of a tablespace: that of a new table may have no first page in its
    /// file yet.
    pub(super) fn take(&mut self, id: u32, (name, pages): &(String, u64)) {
        let of_server = || match name.split_once('/') {
            Some((database, table)) => Space {
                database: Some(decoded(database)),
                name: decoded(table),
                pages: 0,
            },
            None => Space {
                database: None,
                name: name.clone(),
                pages: 0,
            },
        };
        let space = self.by_id.entry(id).or_insert_with(of_server);
        space.pages = space.pages.max(*pages);
    }

    /// Adds the tablespace of a file, if it has the header of one.
    fn add(&mut self, path: &Path, database: Option<String>, name: String) {
        let Some((header, bytes)) = header(path) else {
            return;
        };
        let first = page::parse(&header).filter(|page| page.number == 0);
        if let (Some(first), Some(page_bytes)) = (first, page::page_bytes(&header)) {
            let pages = bytes / page_bytes;
            let space = Space {
                database,
                name,
                pages,
            };
            self.by_id.insert(first.space, space);
        }
    }
}

/// Returns the start and the length of a file.
fn header(path: &Path) -> Option<([u8; HEADER_BYTES], u64)> {
    let file = plain_file::open_regular(path).ok()?;
    let mut header = [0; HEADER_BYTES];
    file.read_exact_at(&mut header, 0).ok()?;
    Some((header, file.metadata().ok()?.len()))
}

fn bytes_of(directory: &Path, prefix: &str) -> u64 {
    let entries = observed::entries(directory, FILES_MAX)
        .into_iter()
        .flatten();
    let of_it = entries.filter(|it| it.file_name().to_string_lossy().starts_with(prefix));
    let lengths = of_it.filter_map(|it| Some(it.metadata().ok()?.len()));
    lengths.fold(0, u64::saturating_add)
}

/// Decodes a name of a file: letters other than those of ASCII are `@` and four hexadecimal digits
/// (MariaDB manual, "Identifier to File Name Mapping"); other codes stay as they are.
fn decoded(name: &str) -> String {
    let mut shown = String::new();
    let mut rest = name;
    while let Some(at) = rest.find('@') {
        shown.push_str(&rest[..at]);
        let code = rest.get(at + 1..at + 5);
        let code = code.and_then(|code| u32::from_str_radix(code, 16).ok());
        match code.and_then(char::from_u32) {
            Some(character) => {
                shown.push(character);
                rest = &rest[at + 5..];
            }
            None => {
                shown.push('@');
                rest = &rest[at + 1..];
            }
        }
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use std::fs;

    use super::*;

    #[test]
    fn names_of_files_are_decoded() {
        let check = |name, expected: &str| assert_eq!(decoded(name), expected);
        check("orders", "orders");
        check("my@002ddb", "my-db");
        check("a@0041@", "aA@");
        check("caf@1o", "caf@1o");
        check("p@0023P@0023p0", "p#P#p0");
    }

    #[test]
    fn tablespaces_are_known_by_their_first_page() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, space: u32, pages: usize| {
            let mut bytes = vec![0; pages * (16 << 10)];
            bytes[24..26].copy_from_slice(&8_u16.to_be_bytes());
            bytes[34..38].copy_from_slice(&space.to_be_bytes());
            bytes[54..58].copy_from_slice(&0x15_u32.to_be_bytes());
            fs::write(directory.path().join(name), bytes).unwrap();
        };
        assert!(spaces(directory.path()).is_err());
        fs::create_dir(directory.path().join("shop")).unwrap();
        file("ibdata1", 0, 4);
        file("ibdata2", 0, 2);
        file("undo001", 9, 3);
        file("shop/or@002dders.ibd", 5, 7);
        fs::write(directory.path().join("shop/empty.ibd"), "").unwrap();
        let found = spaces(directory.path()).unwrap();
        assert_eq!(found.page_bytes, 16 << 10);
        let shown: Vec<_> = found
            .by_id
            .iter()
            .map(|(id, it)| (*id, it.database.as_deref(), it.name.as_str(), it.pages))
            .collect();
        assert_eq!(
            shown,
            [
                (0, None, "system tablespace", 6),
                (5, Some("shop"), "or-ders", 7),
                (9, None, "undo001", 3),
                (TEMPORARY, None, "temporary tables", 0),
            ]
        );
    }

    /// Opening a pipe that nobody writes to waits for ever, and opening a device does something.
    #[test]
    fn no_pipe_device_or_link_in_the_place_of_a_tablespace_is_opened() {
        use rustix::fs::{CWD, FileType, Mode, mkfifoat, mknodat};
        let check = |make: &dyn Fn(&Path)| {
            let directory = tempfile::tempdir().unwrap();
            let database = directory.path().join("shop");
            fs::create_dir(&database).unwrap();
            for name in ["ibdata1", "undo001", "shop/orders.ibd"] {
                make(&directory.path().join(name));
            }
            let (said, answer) = std::sync::mpsc::channel();
            let path = directory.path().to_owned();
            std::thread::spawn(move || said.send(spaces(&path).map(|found| found.by_id.len())));
            let within = std::time::Duration::from_secs(20);
            let answer = answer.recv_timeout(within).expect("it waits for a writer");
            let error = answer.unwrap_err().to_string();
            assert!(
                error.contains("expected the system tablespace ibdata1"),
                "{error}"
            );
        };
        check(&|path| mkfifoat(CWD, path, Mode::RUSR).unwrap());
        // Without root there are no devices; the pipes show the same.
        if linux::process::is_root() {
            let tty = rustix::fs::makedev(5, 0);
            check(&|path| mknodat(CWD, path, FileType::CharacterDevice, Mode::RUSR, tty).unwrap());
        }
        check(&|path| std::os::unix::fs::symlink("/dev/zero", path).unwrap());
    }

    proptest! {
        #[test]
        fn no_name_panics(name in "\\PC{0,20}|[@0-9a-f]{0,20}") {
            let _ = decoded(&name);
        }
    }
}
