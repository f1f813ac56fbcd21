//! `/sys/firmware/dmi/tables/DMI`: what firmware says of the slots for memory modules, by the
//! SMBIOS specification (DMTF DSP0134, 7.17 and 7.18). Only root may read it.

use std::collections::BTreeMap;
use std::io::ErrorKind;

use crate::{Error, Root};

/// A slot for a memory module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemorySlot {
    /// What firmware calls the slot: `P1-DIMMA1`.
    pub locator: String,
    /// What it calls the bank or the channel: `P0_Node0_Channel0_Dimm0`.
    pub bank: String,
    /// The handle of the array of slots that it is in.
    pub array: u16,
    /// The size of the module, 0 for none; `None` where that is unknown.
    pub bytes: Option<u64>,
}

/// Types of structures: arrays, slots, and the end of the table.
const ARRAY: u8 = 16;
const SLOT: u8 = 17;
const END: u8 = 127;
/// The use of an array for the memory of the system (7.17.2).
const SYSTEM_MEMORY: u8 = 3;
/// No machine has more slots.
const SLOTS_MAX: usize = 4096;
/// The longest name, in bytes.
const NAME_MAX: usize = 64;

/// Reads the slots for the memory of the system; `None` where there is no table, or it may not be
/// read.
///
/// # Errors
/// When it is larger than any table.
pub fn read(root: &Root) -> Result<Option<Vec<MemorySlot>>, Error> {
    match root.read_bounded("sys/firmware/dmi/tables/DMI") {
        Ok(bytes) => Ok(Some(parse(&bytes))),
        Err(Error::Read { cause, .. })
            if matches!(
                cause.kind(),
                ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// One structure: its formatted part, with its header of type, length and handle, and its strings.
struct Structure<'a> {
    formatted: &'a [u8],
    strings: &'a [u8],
}

impl<'a> Structure<'a> {
    /// Splits the first structure off a table; `None` where it is cut, or ends.
    fn first_of(table: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let length = usize::from(*table.get(1)?);
        // Type, length and handle are four bytes (6.1.2).
        let formatted = table.get(..length).filter(|_| length >= 4)?;
        let rest = table.get(length..)?;
        // Two NULs end the strings (6.1.3).
        let end = rest.windows(2).position(|pair| pair == [0, 0])?;
        let structure = Structure {
            formatted,
            strings: rest.get(..end)?,
        };
        Some((structure, rest.get(end + 2..)?))
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.formatted.get(at).copied()
    }

    fn word(&self, at: usize) -> Option<u16> {
        let bytes = self.formatted.get(at..at + 2)?;
        Some(u16::from_le_bytes(bytes.try_into().ok()?))
    }

    fn double_word(&self, at: usize) -> Option<u32> {
        let bytes = self.formatted.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }

    /// The string whose number, from 1, is at this offset. Firmware may write anything: what is not
    /// printable is left out.
    fn string(&self, at: usize) -> String {
        let number = usize::from(self.byte(at).unwrap_or(0));
        let all = self.strings.split(|byte| *byte == 0);
        let found = number.checked_sub(1).and_then(|at| all.clone().nth(at));
        let is_shown = |byte: &&u8| byte.is_ascii_graphic() || **byte == b' ';
        let bytes = found.unwrap_or_default().iter().filter(is_shown);
        let text: String = bytes.take(NAME_MAX).map(|byte| char::from(*byte)).collect();
        text.trim().to_owned()
    }
}

fn parse(table: &[u8]) -> Vec<MemorySlot> {
    let mut is_of_system = BTreeMap::new();
    let mut slots = Vec::new();
    let mut rest = table;
    while let Some((structure, after)) = Structure::first_of(rest) {
        rest = after;
        match structure.byte(0) {
            Some(ARRAY) => {
                let handle = structure.word(2).unwrap_or_default();
                is_of_system.insert(handle, structure.byte(5) == Some(SYSTEM_MEMORY));
            }
            Some(SLOT) if slots.len() < SLOTS_MAX => slots.push(slot(&structure)),
            Some(END) => break,
            _ => {}
        }
    }
    // A slot whose array is not in the table is taken for one of the system.
    slots.retain(|slot| is_of_system.get(&slot.array).copied().unwrap_or(true));
    slots
}

fn slot(structure: &Structure<'_>) -> MemorySlot {
    MemorySlot {
        locator: structure.string(0x10),
        bank: structure.string(0x11),
        array: structure.word(4).unwrap_or_default(),
        bytes: size(structure),
    }
}

/// The size (7.18.4): MiB, or KiB where the highest bit is set; the extended size in MiB where
/// there is no room for it.
fn size(structure: &Structure<'_>) -> Option<u64> {
    match structure.word(0x0c)? {
        0xffff => None,
        0x7fff => Some(u64::from(structure.double_word(0x1c)? & 0x7fff_ffff) << 20),
        kib if kib & 0x8000 != 0 => Some(u64::from(kib & 0x7fff) << 10),
        mib => Some(u64::from(mib) << 20),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A structure of this type, with these bytes after its header, and strings.
    fn structure(kind: u8, handle: u16, body: &[u8], strings: &[&str]) -> Vec<u8> {
        let mut bytes = vec![kind, 4 + body.len() as u8];
        bytes.extend(handle.to_le_bytes());
        bytes.extend(body);
        // No string is empty: its number is 0 then.
        for string in strings.iter().filter(|it| !it.is_empty()) {
            bytes.extend(string.as_bytes());
            bytes.push(0);
        }
        if strings.is_empty() {
            bytes.push(0);
        }
        bytes.push(0);
        bytes
    }

    /// A slot of an array with this size in the units of the table.
    fn slot_of(array: u16, size: u16, extended_mib: u32, names: [&str; 2]) -> Vec<u8> {
        let mut body = vec![0; 0x1c];
        body[0..2].copy_from_slice(&array.to_le_bytes());
        body[8..10].copy_from_slice(&size.to_le_bytes());
        (body[0x0c], body[0x0d]) = (1, 2);
        body[0x18..0x1c].copy_from_slice(&extended_mib.to_le_bytes());
        structure(SLOT, 0x1100, &body, &names)
    }

    fn array(handle: u16, used_for: u8) -> Vec<u8> {
        structure(ARRAY, handle, &[3, used_for, 6], &[])
    }

    #[test]
    fn slots_of_the_system_have_their_names_and_sizes() {
        let table = [
            structure(0, 0, &[1, 2], &["vendor", "version"]),
            array(0x1000, SYSTEM_MEMORY),
            array(0x1001, 5),
            slot_of(0x1000, 16384, 0, ["P1-DIMMA1", "P0_Node0_Channel0_Dimm0"]),
            slot_of(0x1000, 0, 0, ["P1-DIMMA2 \u{1b}[31m", ""]),
            slot_of(0x1000, 0x7fff, 65536, ["P1-DIMMB1", "x"]),
            slot_of(0x1000, 0x8200, 0, ["P1-DIMMB2", "x"]),
            slot_of(0x1000, 0xffff, 0, ["P1-DIMMC1", "x"]),
            slot_of(0x1001, 16, 0, ["flash", "x"]),
            structure(END, 0xfeff, &[], &[]),
            slot_of(0x1000, 16, 0, ["after the end", "x"]),
        ];
        let found = parse(&table.concat());
        let sizes: Vec<_> = found.iter().map(|slot| slot.bytes).collect();
        let gib = |count: u64| Some(count << 30);
        assert_eq!(sizes, [gib(16), Some(0), gib(64), Some(512 << 10), None]);
        let expected = MemorySlot {
            locator: "P1-DIMMA1".to_owned(),
            bank: "P0_Node0_Channel0_Dimm0".to_owned(),
            array: 0x1000,
            bytes: gib(16),
        };
        assert_eq!(found[0], expected);
        assert_eq!(found[1].locator, "P1-DIMMA2 [31m");
        // Cut anywhere, it has no more than before.
        let whole = table.concat();
        for length in 0..whole.len() {
            assert!(parse(&whole[..length]).len() <= 6);
        }
    }

    #[test]
    fn a_machine_without_the_table_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path()).unwrap();
        assert_eq!(read(&root).unwrap(), None);
        let tables = folder.path().join("sys/firmware/dmi/tables");
        std::fs::create_dir_all(&tables).unwrap();
        std::fs::write(tables.join("DMI"), slot_of(1, 16, 0, ["A1", ""])).unwrap();
        assert_eq!(read(&root).unwrap().unwrap().len(), 1);
        read(&Root::live()).unwrap();
    }

    proptest! {
        #[test]
        fn no_table_panics(
            mut bytes in prop::collection::vec(any::<u8>(), 0..300),
            kind in 15..19_u8,
        ) {
            let _ = parse(&bytes);
            if bytes.len() > 1 {
                (bytes[0], bytes[1]) = (kind, bytes[1] % 60);
            }
            bytes.extend([0, 0]);
            prop_assert!(parse(&bytes).len() <= bytes.len() / 4);
        }
    }
}
