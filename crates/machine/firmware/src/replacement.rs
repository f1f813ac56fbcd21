//! The firmware's table with measured distances in it.

use model::{MeasuredDistances, NodeSet};

use crate::slit::{self, Slit};
use crate::srat;
use crate::system_table::{Maker, SystemTable};
use crate::{Error, archive};

/// Distance between different nodes of which nothing is known (include/linux/topology.h,
/// `REMOTE_DISTANCE`), and of a node to itself.
const REMOTE: u8 = 20;
const LOCAL: u8 = 10;

/// Where no firmware has made a table: our own name, so that nobody takes it for the maker's.
const OWN: Maker = Maker {
    oem_id: *b"NUMALB",
    oem_table_id: *b"MEASURED",
    oem_revision: 1,
};

/// A table that overrides the firmware's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// The table alone.
    pub table: Vec<u8>,
    /// The table in an archive, to be put before the initial RAM disk.
    pub archive: Vec<u8>,
    /// Whether it replaces one of the firmware.
    pub replaces: bool,
}

/// Makes the table. `srat` and `slit` are the firmware's tables, `kernel_nodes` the nodes that the
/// kernel made of them.
///
/// The kernel lets a table override the firmware's only if it has the same OEM ids and a
/// higher OEM revision (drivers/acpi/tables.c, `acpi_table_initrd_override`).
///
/// # Errors
/// When a table is malformed, or does not have the nodes of the kernel.
pub fn make(
    distances: &MeasuredDistances,
    kernel_nodes: &NodeSet,
    srat: &[u8],
    slit: Option<&[u8]>,
) -> Result<Replacement, Error> {
    let domains = srat::nodes(&SystemTable::parse(srat, srat::SIGNATURE)?)?;
    let of_table: NodeSet = domains.values().copied().collect();
    if of_table != *kernel_nodes {
        return Err(Error::OtherNodes {
            of_table: of_table.to_string(),
            of_kernel: kernel_nodes.to_string(),
        });
    }
    let (maker, old) = match slit {
        None => (OWN, None),
        Some(bytes) => {
            let table = SystemTable::parse(bytes, slit::SIGNATURE)?;
            let newer = table.maker.oem_revision.checked_add(1);
            let maker = Maker {
                oem_revision: newer.ok_or(Error::NoNewerRevision)?,
                ..table.maker
            };
            (maker, Some(Slit::parse(&table)?))
        }
    };
    let count = domains.keys().last().map_or(0, |last| *last as usize + 1);
    let count = count.max(old.as_ref().map_or(0, |old| old.localities));
    let mut new = Slit {
        localities: count,
        distances: Vec::with_capacity(count * count),
    };
    let index_of = |domain: usize| {
        let node = domains.get(&u32::try_from(domain).ok()?)?;
        distances.nodes.iter().position(|it| it == node)
    };
    let indices: Vec<Option<usize>> = (0..count).map(index_of).collect();
    for from in 0..count {
        for to in 0..count {
            let measured = indices[from].zip(indices[to]);
            let measured = measured.map(|(row, column)| distances.measured[row][column]);
            let of_firmware = old.as_ref().and_then(|old| old.distance(from, to));
            let unknown = if from == to { LOCAL } else { REMOTE };
            new.distances
                .push(measured.or(of_firmware).unwrap_or(unknown));
        }
    }
    let table = new.build(&maker);
    let archive = archive::archive(&table).map_err(|cause| Error::Malformed {
        table: slit::SIGNATURE.to_owned(),
        expected: "a table that fits an archive".to_owned(),
        found: cause.to_string(),
    })?;
    Ok(Replacement {
        table,
        archive,
        replaces: old.is_some(),
    })
}

#[cfg(test)]
mod tests {
    use model::NodeId;
    use proptest::prelude::*;

    use super::*;
    use crate::system_table;

    const MAKER: Maker = Maker {
        oem_id: *b"BOCHS ",
        oem_table_id: *b"BXPC    ",
        oem_revision: 1,
    };

    /// Processors of these proximity domains, in this order.
    fn srat_of(domains: &[u8]) -> Vec<u8> {
        let entries = domains.iter().map(|domain| {
            let mut entry = [0; 16];
            (entry[1], entry[2], entry[4]) = (16, *domain, 1);
            entry
        });
        let body = [vec![0; 12], entries.collect::<Vec<_>>().concat()].concat();
        system_table::build("SRAT", &MAKER, &body)
    }

    fn slit_of(distances: &[u8], revision: u32) -> Vec<u8> {
        let slit = Slit {
            localities: distances.len().isqrt(),
            distances: distances.to_vec(),
        };
        slit.build(&Maker {
            oem_revision: revision,
            ..MAKER
        })
    }

    fn measured() -> MeasuredDistances {
        MeasuredDistances {
            nodes: vec![NodeId(0), NodeId(1)],
            measured: vec![vec![10, 40], vec![47, 10]],
            ..MeasuredDistances::default()
        }
    }

    fn nodes(text: &str) -> NodeSet {
        text.parse().unwrap()
    }

    fn read(table: &[u8]) -> (Maker, Slit) {
        let table = SystemTable::parse(table, "SLIT").unwrap();
        (table.maker, Slit::parse(&table).unwrap())
    }

    #[test]
    fn the_kernel_takes_the_table_as_a_newer_one_of_the_same_maker() {
        let old = slit_of(&[10, 21, 21, 10], 4);
        let made = make(&measured(), &nodes("0-1"), &srat_of(&[0, 1]), Some(&old)).unwrap();
        assert!(made.replaces);
        let (maker, slit) = read(&made.table);
        assert_eq!(
            (maker.oem_table_id, maker.oem_revision),
            (MAKER.oem_table_id, 5)
        );
        assert_eq!(slit.distances, [10, 40, 47, 10]);
        let last = slit_of(&[10, 21, 21, 10], u32::MAX);
        let none = make(&measured(), &nodes("0-1"), &srat_of(&[0, 1]), Some(&last));
        assert_eq!(none, Err(Error::NoNewerRevision));
    }

    #[test]
    fn rows_are_those_of_proximity_domains_and_not_of_nodes() {
        // Node 0 is domain 2, node 1 is domain 0; nothing is in domain 1.
        let srat = srat_of(&[2, 0]);
        let made = make(&measured(), &nodes("0-1"), &srat, None).unwrap();
        let (maker, slit) = read(&made.table);
        assert!(!made.replaces);
        assert_eq!(maker, OWN);
        assert_eq!(slit.distances, [10, 20, 47, 20, 10, 20, 40, 20, 10]);
    }

    #[test]
    fn nodes_that_do_not_follow_from_the_firmware_are_refused() {
        let error = make(&measured(), &nodes("0-2"), &srat_of(&[0, 1]), None).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("nodes 0-1, but the kernel has nodes 0-2")
        );
        assert!(make(&measured(), &nodes("0-1"), b"", None).is_err());
        assert!(make(&measured(), &nodes("0-1"), &srat_of(&[0, 1]), Some(b"SLIT")).is_err());
    }

    proptest! {
        #[test]
        fn any_body_of_the_old_table_is_read_or_refused(body: Vec<u8>) {
            let old = system_table::build("SLIT", &MAKER, &body);
            let _ = make(&measured(), &nodes("0-1"), &srat_of(&[0, 1]), Some(&old));
        }
    }
}
