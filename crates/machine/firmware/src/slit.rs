//! The System Locality Information Table (ACPI 6.5, 5.2.17): a distance of one byte from every
//! proximity domain to every other.

use crate::Error;
use crate::system_table::{self, Maker, SystemTable};
use model::counted;

/// Its signature.
pub(crate) const SIGNATURE: &str = "SLIT";

/// The distances of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slit {
    /// Number of proximity domains, from 0.
    pub localities: usize,
    /// Row by row.
    pub distances: Vec<u8>,
}

/// More proximity domains than any machine has: the kernel has at most 1024 nodes.
const LOCALITIES_MAX: u64 = 4096;

impl Slit {
    /// Reads the body of a table.
    pub(crate) fn parse(table: &SystemTable<'_>) -> Result<Self, Error> {
        let malformed = |expected: String| Error::Malformed {
            table: SIGNATURE.to_owned(),
            expected,
            found: counted(table.body.len(), "byte"),
        };
        let Some((count, distances)) = table.body.split_first_chunk::<8>() else {
            return Err(malformed("the number of localities".to_owned()));
        };
        let count = u64::from_le_bytes(*count);
        if count > LOCALITIES_MAX || distances.len() as u64 != count * count {
            return Err(malformed(format!(
                "the distances of {}",
                counted(count, "locality")
            )));
        }
        Ok(Slit {
            localities: usize::try_from(count).unwrap_or_default(),
            distances: distances.to_vec(),
        })
    }

    /// The distance between two proximity domains, if the table has both.
    pub(crate) fn distance(&self, from: usize, to: usize) -> Option<u8> {
        let is_known = from < self.localities && to < self.localities;
        is_known.then(|| self.distances[from * self.localities + to])
    }

    /// The table as bytes.
    pub(crate) fn build(&self, maker: &Maker) -> Vec<u8> {
        let mut body = (self.localities as u64).to_le_bytes().to_vec();
        body.extend_from_slice(&self.distances);
        system_table::build(SIGNATURE, maker, &body)
    }
}
