//! The System Resource Affinity Table (ACPI 6.5, 5.2.16): which proximity domains there are. The
//! kernel numbers its nodes in the order in which it meets them (drivers/acpi/numa/srat.c,
//! `acpi_numa_init` and `acpi_map_pxm_to_node`): first those of processors, then those of memory,
//! then those of other initiators.

use std::collections::BTreeMap;

use model::NodeId;

use crate::Error;
use crate::system_table::{SystemTable, u32_at};

/// Its signature.
pub(crate) const SIGNATURE: &str = "SRAT";

/// Bytes before the first entry of the body.
const RESERVED: usize = 12;
/// The flag of an entry that is in use.
const ENABLED: u32 = 1;

/// The entries in the order in which the kernel reads them, each with its passes: processor, its
/// x2APIC and GICC and RISC-V forms; memory; generic initiator.
const PASSES: [&[u8]; 3] = [&[0, 2, 3, 7], &[1], &[5]];

/// The node of every proximity domain.
pub(crate) fn nodes(table: &SystemTable<'_>) -> Result<BTreeMap<u32, NodeId>, Error> {
    let entries = entries(table)?;
    let mut nodes = BTreeMap::new();
    for pass in PASSES {
        let of_pass = entries.iter().filter(|entry| pass.contains(&entry[0]));
        for domain in of_pass.filter_map(|entry| domain(entry, table.revision)) {
            let next = NodeId(u32::try_from(nodes.len()).unwrap_or(u32::MAX));
            nodes.entry(domain).or_insert(next);
        }
    }
    Ok(nodes)
}

/// The entries: a type, a length that includes both, and the rest.
fn entries<'b>(table: &SystemTable<'b>) -> Result<Vec<&'b [u8]>, Error> {
    let malformed = |found: String| Error::Malformed {
        table: SIGNATURE.to_owned(),
        expected: "entries with their lengths".to_owned(),
        found,
    };
    let mut rest = table.body.get(RESERVED..);
    let mut entries = Vec::new();
    while let Some(bytes) = rest.filter(|bytes| !bytes.is_empty()) {
        let length = bytes.get(1).copied().unwrap_or_default();
        let entry = bytes.get(..usize::from(length)).filter(|it| it.len() >= 2);
        let Some(entry) = entry else {
            return Err(malformed(format!("a length of {length} before the end")));
        };
        entries.push(entry);
        rest = bytes.get(usize::from(length)..);
    }
    Ok(entries)
}

/// The proximity domain of an entry that is in use and long enough.
fn domain(entry: &[u8], revision: u8) -> Option<u32> {
    let (domain, flags) = match (entry[0], entry.len()) {
        (0, 16..) => {
            let high = u32::from_le_bytes([0, entry[9], entry[10], entry[11]]);
            let low = u32::from(entry[2]);
            (
                if revision >= 2 { low | high } else { low },
                u32_at(entry, 4),
            )
        }
        (1, 40..) => {
            let domain = u32_at(entry, 2);
            let domain = if revision >= 2 { domain } else { domain & 0xff };
            (domain, u32_at(entry, 28))
        }
        (2, 24..) => (u32_at(entry, 4), u32_at(entry, 12)),
        (3, 18..) => (u32_at(entry, 2), u32_at(entry, 10)),
        (5, 32..) => (u32_at(entry, 4), u32_at(entry, 24)),
        (7, 20..) => (u32_at(entry, 4), u32_at(entry, 12)),
        _ => return None,
    };
    (flags & ENABLED != 0).then_some(domain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::system_table::{self, Maker};

    fn processor(domain: u8, flags: u8) -> Vec<u8> {
        let mut entry = vec![0; 16];
        (entry[1], entry[2], entry[4]) = (16, domain, flags);
        entry
    }

    fn memory(domain: u8, flags: u8) -> Vec<u8> {
        let mut entry = vec![0; 40];
        (entry[0], entry[1], entry[2], entry[28]) = (1, 40, domain, flags);
        entry
    }

    fn nodes_of(entries: &[Vec<u8>]) -> Result<BTreeMap<u32, NodeId>, Error> {
        let maker = Maker {
            oem_id: *b"BOCHS ",
            oem_table_id: *b"BXPC    ",
            oem_revision: 1,
        };
        let body = [vec![0; RESERVED], entries.concat()].concat();
        let table = system_table::build(SIGNATURE, &maker, &body);
        nodes(&SystemTable::parse(&table, SIGNATURE).unwrap())
    }

    #[test]
    fn nodes_are_numbered_as_the_kernel_meets_them() {
        // Memory first in the table, processors first for the kernel.
        let entries = [
            memory(2, 1),
            memory(0, 1),
            processor(1, 1),
            processor(0, 1),
            processor(9, 0),
        ];
        let expected = [(0, NodeId(1)), (1, NodeId(0)), (2, NodeId(2))];
        assert_eq!(nodes_of(&entries).unwrap(), expected.into());
    }

    #[test]
    fn entries_beyond_the_end_or_of_no_length_are_refused() {
        for entry in [vec![0, 0], vec![0, 200], vec![1], vec![0, 1]] {
            let error = nodes_of(std::slice::from_ref(&entry)).unwrap_err();
            assert!(error.to_string().contains("SRAT"), "{entry:?}: {error}");
        }
        // Entries of types that are not known, and short ones, say nothing.
        assert_eq!(
            nodes_of(&[vec![99, 4, 1, 1], vec![0, 3, 1]]).unwrap().len(),
            0
        );
    }

    proptest! {
        #[test]
        fn any_entries_are_read_or_refused(entries: Vec<Vec<u8>>) {
            let _ = nodes_of(&entries);
        }
    }
}
