//! Ids of NUMA nodes and CPUs, and sets of them in the kernel's list form (`"0-3,8"`).
//!
//! Not here: numactl's extensions of lists (`all`, `!1`, `+0`), which refer to a machine.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Error;
use crate::error::shortened;

/// The largest id a list may contain.
///
/// Linux can be built for at most 8192 CPUs (`arch/x86/Kconfig`, `NR_CPUS`) and 1024 nodes
/// (`NODES_SHIFT` 10), so this leaves room for eight generations and bounds the memory that an
/// untrusted text such as `0-4294967295` can make us allocate.
pub const ID_MAX: u32 = 65_535;

/// The most ids one list may mention, repetitions included, to bound `0-65535,0-65535,…`.
const MENTIONS_MAX: usize = 4 * (ID_MAX as usize + 1);

/// A number that Linux assigns to things of one kind: implemented by [`NodeId`] and [`CpuId`].
pub trait Id: Copy + Ord + fmt::Debug + fmt::Display {
    /// Wraps the kernel's number.
    fn from_number(number: u32) -> Self;

    /// The kernel's number.
    fn number(self) -> u32;
}

/// The number of a NUMA node, as in `/sys/devices/system/node/nodeN`. Numbers may be sparse.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct NodeId(pub u32);

/// The number of a logical CPU, as in `/sys/devices/system/cpu/cpuN`. Numbers may be sparse.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct CpuId(pub u32);

impl Id for NodeId {
    fn from_number(number: u32) -> Self {
        Self(number)
    }

    fn number(self) -> u32 {
        self.0
    }
}

impl Id for CpuId {
    fn from_number(number: u32) -> Self {
        Self(number)
    }

    fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for CpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A set of node ids.
pub type NodeSet = IdSet<NodeId>;

/// A set of CPU ids.
pub type CpuSet = IdSet<CpuId>;

/// A set of ids, in ascending order; displayed, parsed and serialised in the kernel's list form.
///
/// The form is that of `bitmap_parselist` (kernel, `lib/bitmap-str.c`): ids and ranges separated
/// by commas, `0-10:2/4` for the first two of every four, and nothing at all for the empty set.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdSet<I> {
    /// Ascending, without repetition.
    ids: Vec<I>,
}

impl<I: Id> IdSet<I> {
    /// The empty set.
    pub const fn new() -> Self {
        Self { ids: Vec::new() }
    }

    /// The set of one id.
    pub fn of(id: I) -> Self {
        Self { ids: vec![id] }
    }

    /// The number of ids in the set.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether the set has no ids.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Whether `id` is in the set.
    pub fn contains(&self, id: I) -> bool {
        self.ids.binary_search(&id).is_ok()
    }

    /// The ids in ascending order.
    pub fn iter(&self) -> std::iter::Copied<std::slice::Iter<'_, I>> {
        self.ids.iter().copied()
    }

    /// The ids in ascending order, as a slice.
    pub fn as_slice(&self) -> &[I] {
        &self.ids
    }

    /// The smallest id.
    pub fn first(&self) -> Option<I> {
        self.ids.first().copied()
    }

    /// The largest id.
    pub fn last(&self) -> Option<I> {
        self.ids.last().copied()
    }

    /// Adds `id`; returns whether it was new.
    pub fn insert(&mut self, id: I) -> bool {
        match self.ids.binary_search(&id) {
            Ok(_) => false,
            Err(index) => {
                self.ids.insert(index, id);
                true
            }
        }
    }

    /// Removes `id`; returns whether it was present.
    pub fn remove(&mut self, id: I) -> bool {
        match self.ids.binary_search(&id) {
            Ok(index) => {
                self.ids.remove(index);
                true
            }
            Err(_) => false,
        }
    }

    /// The ids in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.iter().chain(other.iter()).collect()
    }

    /// The ids in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self {
            ids: self.iter().filter(|id| other.contains(*id)).collect(),
        }
    }

    /// The ids of this set that are not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        Self {
            ids: self.iter().filter(|id| !other.contains(*id)).collect(),
        }
    }

    /// Whether every id of this set is in `other`. The empty set is a subset of every set.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.iter().all(|id| other.contains(id))
    }

    /// Whether the sets have no id in common.
    pub fn is_disjoint(&self, other: &Self) -> bool {
        !self.iter().any(|id| other.contains(id))
    }
}

impl<I: Id> Default for IdSet<I> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Id> FromIterator<I> for IdSet<I> {
    fn from_iter<T: IntoIterator<Item = I>>(iter: T) -> Self {
        let mut ids: Vec<I> = iter.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        Self { ids }
    }
}

impl<I: Id> Extend<I> for IdSet<I> {
    fn extend<T: IntoIterator<Item = I>>(&mut self, iter: T) {
        self.ids.extend(iter);
        self.ids.sort_unstable();
        self.ids.dedup();
    }
}

impl<'a, I: Id> IntoIterator for &'a IdSet<I> {
    type Item = I;
    type IntoIter = std::iter::Copied<std::slice::Iter<'a, I>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<I: Id> fmt::Display for IdSet<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.ids.as_slice();
        let mut text = String::new();
        while let Some(first) = rest.first().map(|id| id.number()) {
            let run = rest
                .iter()
                .zip(u64::from(first)..)
                .take_while(|(id, n)| u64::from(id.number()) == *n)
                .count();
            let last = rest[run - 1].number();
            if !text.is_empty() {
                text.push(',');
            }
            text.push_str(&first.to_string());
            if last > first {
                text.push('-');
                text.push_str(&last.to_string());
            }
            rest = &rest[run..];
        }
        f.pad(&text)
    }
}

impl<I: Id> fmt::Debug for IdSet<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

impl<I: Id> FromStr for IdSet<I> {
    type Err = Error;

    /// Parses the kernel's list form; white space around the whole list is ignored.
    fn from_str(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(Self::new());
        }
        let mut ids = Vec::new();
        for element in text.split(',') {
            let range = Range::parse(element)?;
            if ids.len() + range.len_max() > MENTIONS_MAX {
                return Err(malformed("a list that does not repeat its ids", text));
            }
            ids.extend(range.ids().map(I::from_number));
        }
        Ok(ids.into_iter().collect())
    }
}

/// One element of a list: `first-last:used/group`.
struct Range {
    first: u32,
    last: u32,
    used: u32,
    group: u32,
}

impl Range {
    fn parse(element: &str) -> Result<Self, Error> {
        let (bounds, stride) = match element.split_once(':') {
            Some((bounds, stride)) => (bounds, Some(stride)),
            None => (element, None),
        };
        let (first, last) = match bounds.split_once('-') {
            Some((first, last)) => (id(first, element)?, id(last, element)?),
            None if stride.is_some() => {
                return Err(malformed("a range such as 0-10 before \":2/4\"", element));
            }
            None => {
                let only = id(bounds, element)?;
                (only, only)
            }
        };
        if last < first {
            return Err(malformed(
                "a range whose end is not below its start",
                element,
            ));
        }
        let (used, group) = match stride {
            Some(stride) => parse_stride(stride, element)?,
            None => (1, 1),
        };
        Ok(Self {
            first,
            last,
            used,
            group,
        })
    }

    /// An upper bound of the number of ids.
    fn len_max(&self) -> usize {
        (self.last - self.first) as usize + 1
    }

    fn ids(&self) -> impl Iterator<Item = u32> {
        let Self {
            first,
            last,
            used,
            group,
        } = *self;
        (first..=last).filter(move |id| (id - first) % group < used)
    }
}

/// The `2/4` of `0-10:2/4`: use the first two of every group of four.
fn parse_stride(stride: &str, element: &str) -> Result<(u32, u32), Error> {
    let expected = "a stride such as 0-10:2/4, with 0 < 2 <= 4";
    let (used, group) = stride
        .split_once('/')
        .ok_or_else(|| malformed(expected, element))?;
    let (used, group) = (id(used, element)?, id(group, element)?);
    if used == 0 || used > group {
        return Err(malformed(expected, element));
    }
    Ok((used, group))
}

fn id(digits: &str, element: &str) -> Result<u32, Error> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(malformed("a list of ids such as 0-3,8", element));
    }
    match digits.parse() {
        Ok(number) if number <= ID_MAX => Ok(number),
        _ => Err(malformed("ids up to 65535", element)),
    }
}

fn malformed(expected: &'static str, found: &str) -> Error {
    Error::IdList {
        expected,
        found: shortened(found),
    }
}

impl<I: Id> Serialize for IdSet<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, I: Id> Deserialize<'de> for IdSet<I> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListForm<I>(PhantomData<I>);

        impl<I: Id> Visitor<'_> for ListForm<I> {
            type Value = IdSet<I>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of ids such as \"0-3,8\"")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<IdSet<I>, E> {
                text.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_str(ListForm(PhantomData))
    }
}

/// Bytes by node.
pub type BytesByNode = BTreeMap<NodeId, u64>;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, expected: &str) {
        let set: CpuSet = text.parse().unwrap();
        assert_eq!(set.to_string(), expected, "{text:?}");
    }

    fn check_error(text: &str, expected: &str) {
        let error = text.parse::<NodeSet>().unwrap_err();
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn a_list_is_read_in_any_order_and_shown_in_the_shortest_form() {
        check("", "");
        check("\n", "");
        check("0\n", "0");
        check("0-3,8", "0-3,8");
        check("8,3,2,1,0", "0-3,8");
        check("0,81-89,120-129\n", "0,81-89,120-129");
        check("5-5", "5");
        check("0-1", "0-1");
        check("0-4,2-6", "0-6");
        check("65535", "65535");
    }

    #[test]
    fn strides_use_the_first_of_every_group() {
        check("0-10:2/4", "0-1,4-5,8-9");
        check("0-3:1/2,7", "0,2,7");
        check("0-3:4/4", "0-3");
        check("3-9:1/100", "3");
    }

    #[test]
    fn malformed_lists_are_errors_that_say_what_was_expected() {
        check_error("a", "expected a list of ids such as 0-3,8, found \"a\"");
        check_error("0,,1", "expected a list of ids such as 0-3,8, found \"\"");
        check_error("0-", "expected a list of ids such as 0-3,8, found \"0-\"");
        check_error("+1", "expected a list of ids such as 0-3,8, found \"+1\"");
        check_error("1 2", "expected a list of ids such as 0-3,8, found \"1 2\"");
        check_error(
            "0-0x3",
            "expected a list of ids such as 0-3,8, found \"0-0x3\"",
        );
        check_error(
            "3-1",
            "expected a range whose end is not below its start, found \"3-1\"",
        );
        check_error(
            "3:1/2",
            "expected a range such as 0-10 before \":2/4\", found \"3:1/2\"",
        );
        let stride = "expected a stride such as 0-10:2/4, with 0 < 2 <= 4, found ";
        check_error("0-3:1", &format!("{stride}\"0-3:1\""));
        check_error("0-3:0/2", &format!("{stride}\"0-3:0/2\""));
        check_error("0-3:3/2", &format!("{stride}\"0-3:3/2\""));
        check_error("0-3:1/0", &format!("{stride}\"0-3:1/0\""));
    }

    #[test]
    fn hostile_lists_end_early() {
        check_error(
            "0-4294967295",
            "expected ids up to 65535, found \"0-4294967295\"",
        );
        check_error("65536", "expected ids up to 65535, found \"65536\"");
        check_error(
            "99999999999999999999999999999999999999999999999999",
            "expected ids up to 65535, found \"9999999999999999999999999999999999999999…\"",
        );
        let repeated = ["0-65535"; 100_000].join(",");
        check_error(
            &repeated,
            "expected a list that does not repeat its ids, \
             found \"0-65535,0-65535,0-65535,0-65535,0-65535,…\"",
        );
    }

    #[test]
    fn sets_are_sets() {
        let near: NodeSet = "0-3".parse().unwrap();
        let odd: NodeSet = "1,3,5".parse().unwrap();
        assert_eq!(near.union(&odd).to_string(), "0-3,5");
        assert_eq!(near.intersection(&odd).to_string(), "1,3");
        assert_eq!(near.difference(&odd).to_string(), "0,2");
        assert!(NodeSet::new().is_subset(&near));
        assert!(near.intersection(&odd).is_subset(&near));
        assert!(!odd.is_subset(&near));
        assert!(!odd.is_disjoint(&near));
        assert!(odd.is_disjoint(&NodeSet::of(NodeId(2))));
        assert_eq!(odd.len(), 3);
        assert_eq!(
            (odd.first(), odd.last()),
            (Some(NodeId(1)), Some(NodeId(5)))
        );
        assert_eq!(odd.iter().map(|node| node.0).collect::<Vec<_>>(), [1, 3, 5]);
    }

    #[test]
    fn ids_come_and_go() {
        let mut set = CpuSet::new();
        assert!(set.insert(CpuId(9)));
        assert!(set.insert(CpuId(1)));
        assert!(!set.insert(CpuId(9)));
        assert_eq!(set.to_string(), "1,9");
        assert!(set.remove(CpuId(1)));
        assert!(!set.remove(CpuId(1)));
        set.extend([CpuId(8), CpuId(9)]);
        assert_eq!(set.to_string(), "8-9");
        set.extend([CpuId(u32::MAX), CpuId(u32::MAX - 1)]);
        assert_eq!(set.to_string(), "8-9,4294967294-4294967295");
    }

    #[test]
    fn json_holds_the_list_form() {
        let set: CpuSet = "0-3,8".parse().unwrap();
        let json = serde_json::to_string(&set).unwrap();
        assert_eq!(json, "\"0-3,8\"");
        assert_eq!(serde_json::from_str::<CpuSet>(&json).unwrap(), set);
        assert!(serde_json::from_str::<CpuSet>("\"0-\"").is_err());
        assert!(serde_json::from_str::<CpuSet>("[0]").is_err());
        assert_eq!(serde_json::to_string(&NodeId(3)).unwrap(), "3");
    }

    proptest! {
        #[test]
        fn display_and_parse_are_inverse(ids in prop::collection::vec(0..=ID_MAX, 0..200)) {
            let set: CpuSet = ids.into_iter().map(CpuId).collect();
            prop_assert_eq!(set.to_string().parse::<CpuSet>().unwrap(), set);
        }

        #[test]
        fn dense_sets_round_trip_too(ids in prop::collection::vec(0..64u32, 0..64)) {
            let set: NodeSet = ids.into_iter().map(NodeId).collect();
            prop_assert_eq!(set.to_string().parse::<NodeSet>().unwrap(), set);
        }

        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = text.parse::<CpuSet>();
        }

        #[test]
        fn no_text_of_list_characters_panics(text in "[0-9,:/ -]{0,40}") {
            let _ = text.parse::<CpuSet>();
        }
    }
}
