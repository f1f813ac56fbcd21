//! `/sys/devices/system/node/nodeN/numastat`: allocation counters since boot (kernel,
//! `Documentation/admin-guide/numastat.rst`).

use model::NodeId;

use crate::{Error, Root, TextFile};

/// Pages since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numastat {
    /// `numa_hit`: intended for this node and allocated here.
    pub hit: u64,
    /// `numa_miss`: intended for another node but allocated here.
    pub miss: u64,
    /// `numa_foreign`: intended for this node but allocated elsewhere.
    pub foreign: u64,
}

/// The counters of a node; `None` when the kernel has none.
///
/// # Errors
/// When the file is malformed.
pub fn read(root: &Root, node: NodeId) -> Result<Option<Numastat>, Error> {
    let file = root.read_optional(&format!("sys/devices/system/node/node{node}/numastat"))?;
    file.map(|file| parse(&file)).transpose()
}

/// `numa_hit 6281`, and so on; ignores lines that are not needed.
fn parse(file: &TextFile) -> Result<Numastat, Error> {
    let counter = |name: &str| {
        let line = file.lines().find_map(|(number, line)| {
            let (key, value) = line.split_once(' ')?;
            (key == name).then_some((number, value))
        });
        let (number, value) = line.ok_or_else(|| file.ended(format!("a line {name:?}")))?;
        let pages = value.trim().parse();
        pages.map_err(|_| file.malformed(number, format!("{name} as a number of pages"), value))
    };
    Ok(Numastat {
        hit: counter("numa_hit")?,
        miss: counter("numa_miss")?,
        foreign: counter("numa_foreign")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Numastat, Error> {
        parse(&TextFile::new("/numastat", text))
    }

    #[test]
    fn the_counters_are_read_in_any_order() {
        let text = "numa_hit 6281\nnuma_miss 2\nnuma_foreign 3\ninterleave_hit 1\nlocal_node 0\n";
        let (hit, miss, foreign) = (6281, 2, 3);
        assert_eq!(of(text).unwrap(), Numastat { hit, miss, foreign });
    }

    #[test]
    fn a_counter_that_is_missing_or_no_number_is_named() {
        let check = |text: &str, expected: &str| {
            assert_eq!(
                of(text).unwrap_err().to_string(),
                format!("/numastat, line {expected}")
            );
        };
        check(
            "numa_hit 1\n",
            "1: expected a line \"numa_miss\", found the end of the file",
        );
        check(
            "numa_hit -1\n",
            "1: expected numa_hit as a number of pages, found \"-1\"",
        );
    }

    #[test]
    fn no_text_panics() {
        testing::any_text(
            "((numa_(hit|miss|foreign)|\\PC{0,5}) ?[0-9x]{0,22}\n?){0,6}",
            &|text| {
                let _ = of(text);
            },
        );
    }
}
