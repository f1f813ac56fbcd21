//! The requested shared memory of a case: size, backing, page size, nodes.

use model::{Backing, ByteSize, NodeId};

use super::place::Place;
use super::vocabulary::{Word, names, value_of};

/// The smallest buffer cache, in bytes.
pub(crate) const CACHE_BYTES_MIN: u64 = 1 << 20;
/// The largest buffer cache: 16 TiB, the most blocks that the embedded instance can count.
pub(crate) const CACHE_BYTES_MAX: u64 = 1 << 44;

/// The size of the buffer cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheSize {
    /// A fixed number of bytes.
    Bytes(u64),
    /// Large enough that the processor's caches do not answer in place of memory.
    BeyondCaches,
}

/// The word for a cache that scales with the processor's caches.
pub const BEYOND_CACHES: &str = "beyond-caches";

impl CacheSize {
    /// Parses a size or [`BEYOND_CACHES`].
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text == BEYOND_CACHES {
            return Some(CacheSize::BeyondCaches);
        }
        let ByteSize(bytes) = text.parse().ok()?;
        (CACHE_BYTES_MIN..=CACHE_BYTES_MAX)
            .contains(&bytes)
            .then_some(CacheSize::Bytes(bytes))
    }

    /// Returns what [`Self::parse`] accepts, for messages.
    pub(crate) fn expected() -> String {
        let (min, max) = (ByteSize(CACHE_BYTES_MIN), ByteSize(CACHE_BYTES_MAX));
        format!("a size from {min} to {max} such as 256MiB, or {BEYOND_CACHES}")
    }
}

/// The table of backings.
pub(crate) const BACKINGS: &[Word<Backing>] = &[
    Word {
        value: Backing::Memfd,
        name: "memfd",
        about: "memfd_create(2), with MFD_HUGETLB when the pages are huge",
    },
    Word {
        value: Backing::Sysv,
        name: "sysv",
        about: "a System V segment (shmget(2)), with SHM_HUGETLB when the pages are huge",
    },
    Word {
        value: Backing::Shm,
        name: "shm",
        about: "an unnamed file in /dev/shm (O_TMPFILE), small pages only",
    },
];

/// The size of the pages of an SGA.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageSize {
    /// The base page of the machine: 4 KiB, on Arm and POWER up to 64 KiB.
    Base,
    /// A size in bytes.
    Bytes(u64),
}

impl PageSize {
    /// The word for [`PageSize::Base`].
    pub(crate) const BASE: &str = "base";
    /// What [`Self::parse`] accepts, for messages.
    pub(crate) const EXPECTED: &str = "base, or a page size such as 4KiB, 2MiB or 1GiB";

    /// Parses [`Self::BASE`] or a power of two of at least 4 KiB.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text == Self::BASE {
            return Some(PageSize::Base);
        }
        let ByteSize(bytes) = text.parse().ok()?;
        (bytes >= 4096 && bytes.is_power_of_two()).then_some(PageSize::Bytes(bytes))
    }

    /// Returns the size on a machine whose base pages have this size.
    pub(crate) fn bytes(self, base_page_bytes: u64) -> u64 {
        match self {
            PageSize::Base => base_page_bytes,
            PageSize::Bytes(bytes) => bytes,
        }
    }
}

/// The requested allocation of pages to nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllocationChoice {
    /// No policy.
    OsDefault,
    /// Interleaved page by page over these nodes.
    Interleave(Place<NodeId>),
    /// Interleaved by the kernel's weights.
    WeightedInterleave(Place<NodeId>),
    /// On these nodes only.
    Bind(Place<NodeId>),
    /// On this node as long as it has free memory; the place must be one node.
    Prefer(Place<NodeId>),
    /// A buffer pool on each of these nodes; everything else interleaved over them.
    PerNode(Place<NodeId>),
}

/// The kinds of allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AllocationKind {
    /// See [`AllocationChoice::OsDefault`].
    OsDefault,
    /// See [`AllocationChoice::Interleave`].
    Interleave,
    /// See [`AllocationChoice::WeightedInterleave`].
    WeightedInterleave,
    /// See [`AllocationChoice::Bind`].
    Bind,
    /// See [`AllocationChoice::Prefer`].
    Prefer,
    /// See [`AllocationChoice::PerNode`].
    PerNode,
}

/// The table of allocations.
pub(crate) const ALLOCATIONS: &[Word<AllocationKind>] = &[
    Word {
        value: AllocationKind::OsDefault,
        name: "os-default",
        about: "no policy: each page goes to the node of the CPU that first touches it",
    },
    Word {
        value: AllocationKind::Interleave,
        name: "interleave:PLACE",
        about: "page by page over the nodes of PLACE (MPOL_INTERLEAVE)",
    },
    Word {
        value: AllocationKind::WeightedInterleave,
        name: "weighted-interleave:PLACE",
        about: "the same, by the kernel's weights (MPOL_WEIGHTED_INTERLEAVE, Linux 6.9)",
    },
    Word {
        value: AllocationKind::Bind,
        name: "bind:PLACE",
        about: "only on the nodes of PLACE (MPOL_BIND)",
    },
    Word {
        value: AllocationKind::Prefer,
        name: "prefer:PLACE",
        about: "on the one node of PLACE while it has free memory (MPOL_PREFERRED); trials for \
                which it has none do not count",
    },
    Word {
        value: AllocationKind::PerNode,
        name: "per-node:PLACE",
        about: "NUMA-aware: a buffer pool on each node of PLACE (preferred), the rest interleaved \
                over these nodes; each session runs on the CPUs of one node and reads from its \
                pool",
    },
];

impl AllocationChoice {
    /// Parses a kind and, where the kind has one, its place.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (kind, place) = match text.split_once(':') {
            Some((kind, place)) => (format!("{kind}:PLACE"), Some(Place::parse(place)?)),
            None => (text.to_owned(), None),
        };
        let Some(place) = place else {
            let kind = value_of(ALLOCATIONS, &kind)?;
            return (kind == AllocationKind::OsDefault).then_some(AllocationChoice::OsDefault);
        };
        match value_of(ALLOCATIONS, &kind)? {
            AllocationKind::OsDefault => None,
            AllocationKind::Interleave => Some(AllocationChoice::Interleave(place)),
            AllocationKind::WeightedInterleave => Some(AllocationChoice::WeightedInterleave(place)),
            AllocationKind::Bind => Some(AllocationChoice::Bind(place)),
            AllocationKind::Prefer => Some(AllocationChoice::Prefer(place)),
            AllocationKind::PerNode => Some(AllocationChoice::PerNode(place)),
        }
    }

    /// Returns what [`Self::parse`] accepts, for messages.
    pub(crate) fn expected() -> String {
        format!(
            "{} where PLACE is {}",
            names(ALLOCATIONS),
            Place::<NodeId>::expected()
        )
    }

    /// Returns `text` with the misspelt part replaced by the most similar valid word.
    pub(crate) fn nearest(text: &str) -> Option<String> {
        use super::place::nearest_place;
        use super::vocabulary::nearest;
        let Some((kind, place)) = text.split_once(':') else {
            return nearest(text, ["os-default"]).map(str::to_owned);
        };
        let kinds = ALLOCATIONS
            .iter()
            .filter_map(|word| word.name.strip_suffix(":PLACE"));
        let kind = nearest(kind, kinds)?;
        let right_place = Place::<NodeId>::parse(place).map(|_| place);
        let place = right_place.or_else(|| nearest_place(place))?;
        Some(format!("{kind}:{place}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::place::Symbol;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn allocations_are_a_kind_and_a_place() {
        let check = |text, expected| assert_eq!(AllocationChoice::parse(text), expected, "{text}");
        let place = Place::Symbol;
        check("os-default", Some(AllocationChoice::OsDefault));
        check(
            "interleave:all",
            Some(AllocationChoice::Interleave(place(Symbol::All))),
        );
        check(
            "bind:farthest",
            Some(AllocationChoice::Bind(place(Symbol::Farthest))),
        );
        check(
            "weighted-interleave:all",
            Some(AllocationChoice::WeightedInterleave(place(Symbol::All))),
        );
        check(
            "prefer:nearest",
            Some(AllocationChoice::Prefer(place(Symbol::Nearest))),
        );
        check(
            "per-node:all",
            Some(AllocationChoice::PerNode(place(Symbol::All))),
        );
        check(
            "bind:0,2",
            Some(AllocationChoice::Bind(Place::List("0,2".parse().unwrap()))),
        );
        for text in [
            "",
            "bind",
            "bind:",
            "interleave",
            "os-default:all",
            "PLACE",
            "bind:PLACE",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn cache_and_page_sizes_have_bounds() {
        let cache = |text| CacheSize::parse(text);
        assert_eq!(cache("256MiB"), Some(CacheSize::Bytes(256 << 20)));
        assert_eq!(cache("beyond-caches"), Some(CacheSize::BeyondCaches));
        assert_eq!(cache("1 MiB"), Some(CacheSize::Bytes(CACHE_BYTES_MIN)));
        assert_eq!(cache("1 KiB"), None);
        assert_eq!(cache("17 TiB"), None);
        assert_eq!(cache("much"), None);
        let page = PageSize::parse;
        assert_eq!(page("base").map(|it| it.bytes(64 << 10)), Some(64 << 10));
        assert_eq!(page("4KiB").map(|it| it.bytes(64 << 10)), Some(4096));
        assert_eq!(page("2M"), Some(PageSize::Bytes(2 << 20)));
        assert_eq!(page("1000"), None);
        assert_eq!(page("3MiB"), None);
    }

    #[test]
    fn the_mistyped_half_is_found() {
        let check = |text, expected: Option<&str>| {
            assert_eq!(AllocationChoice::nearest(text).as_deref(), expected);
        };
        check("bnd:all", Some("bind:all"));
        check("bind:furthest", Some("bind:farthest"));
        check("interleaved:0-3", Some("interleave:0-3"));
        check("osdefault", Some("os-default"));
        check("spread", None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = (AllocationChoice::parse(&text), AllocationChoice::nearest(&text));
            let _ = (CacheSize::parse(&text), PageSize::parse(&text));
        }
    }
}
