//! The header that every table of ACPI has (ACPI 6.5, 5.2.6 "System Description Table Header").

use crate::Error;
use model::counted;

/// Size of the header: signature 4, length 4, revision 1, checksum 1, OEM id 6, OEM table id 8, OEM
/// revision 4, creator id 4, creator revision 4.
pub(crate) const HEADER_BYTES: usize = 36;
/// Where the checksum is.
const CHECKSUM_AT: usize = 9;

/// What the header says of a table's maker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Maker {
    /// Who made the machine.
    pub oem_id: [u8; 6],
    /// How the maker calls the table.
    pub oem_table_id: [u8; 8],
    /// The maker's number of the version.
    pub oem_revision: u32,
}

/// A table, checked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SystemTable<'b> {
    /// The revision of its format.
    pub revision: u8,
    /// Its maker.
    pub maker: Maker,
    /// What follows the header.
    pub body: &'b [u8],
}

impl<'b> SystemTable<'b> {
    /// Checks signature, length and checksum.
    pub(crate) fn parse(bytes: &'b [u8], signature: &str) -> Result<Self, Error> {
        let malformed = |expected: String, found: String| Error::Malformed {
            table: signature.to_owned(),
            expected,
            found,
        };
        if bytes.len() < HEADER_BYTES || &bytes[..4] != signature.as_bytes() {
            let found = format!("{} of another kind", counted(bytes.len(), "byte"));
            return Err(malformed(format!("a header with {signature}"), found));
        }
        let length = u32_at(bytes, 4) as usize;
        let Some(table) = bytes.get(..length).filter(|it| it.len() >= HEADER_BYTES) else {
            let found = bytes.len().to_string();
            return Err(malformed(format!("{length} bytes"), found));
        };
        let sum = sum(table);
        if sum != 0 {
            return Err(malformed("a checksum of 0".to_owned(), sum.to_string()));
        }
        let mut maker = Maker {
            oem_id: [0; 6],
            oem_table_id: [0; 8],
            oem_revision: u32_at(table, 24),
        };
        maker.oem_id.copy_from_slice(&table[10..16]);
        maker.oem_table_id.copy_from_slice(&table[16..24]);
        Ok(SystemTable {
            revision: table[8],
            maker,
            body: &table[HEADER_BYTES..],
        })
    }
}

/// Makes a table of revision 1 with this body.
pub(crate) fn build(signature: &str, maker: &Maker, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(HEADER_BYTES + body.len()).unwrap_or(u32::MAX);
    let mut table = Vec::with_capacity(HEADER_BYTES + body.len());
    table.extend_from_slice(signature.as_bytes());
    table.extend_from_slice(&length.to_le_bytes());
    table.extend_from_slice(&[1, 0]);
    table.extend_from_slice(&maker.oem_id);
    table.extend_from_slice(&maker.oem_table_id);
    table.extend_from_slice(&maker.oem_revision.to_le_bytes());
    table.extend_from_slice(b"NLAB");
    table.extend_from_slice(&1u32.to_le_bytes());
    table.extend_from_slice(body);
    table[CHECKSUM_AT] = 0u8.wrapping_sub(sum(&table));
    table
}

/// All bytes of a table add up to 0.
fn sum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum, byte| sum.wrapping_add(*byte))
}

/// A number of four bytes, the lowest first.
///
/// # Panics
/// When there are not four bytes.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MAKER: Maker = Maker {
        oem_id: *b"BOCHS ",
        oem_table_id: *b"BXPC    ",
        oem_revision: 7,
    };

    #[test]
    fn what_is_built_is_what_is_read() {
        let bytes = build("SLIT", &MAKER, b"body");
        let table = SystemTable::parse(&bytes, "SLIT").unwrap();
        assert_eq!(
            (table.maker, table.body, table.revision),
            (MAKER, &b"body"[..], 1)
        );
        // The kernel's file may be longer than the table says.
        let longer = [bytes.clone(), b"more".to_vec()].concat();
        assert_eq!(SystemTable::parse(&longer, "SLIT").unwrap().body, b"body");
        assert!(SystemTable::parse(&bytes, "SRAT").is_err());
        let mut wrong = bytes.clone();
        wrong[40 - 1] ^= 1;
        let error = SystemTable::parse(&wrong, "SLIT").unwrap_err().to_string();
        assert!(error.contains("expected a checksum of 0"), "{error}");
        for cut in 0..bytes.len() {
            assert!(SystemTable::parse(&bytes[..cut], "SLIT").is_err(), "{cut}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_table_or_an_error(bytes: Vec<u8>) {
            let _ = SystemTable::parse(&bytes, "SLIT");
            let named = [b"SLIT".to_vec(), bytes].concat();
            let _ = SystemTable::parse(&named, "SLIT");
        }
    }
}
