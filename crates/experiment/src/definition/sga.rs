//! The shared memory of a case, as asked for: size, kind, page size, nodes.

use model::{Backing, ByteSize, NodeId};

use super::place::Place;
use super::vocabulary::{Word, names, value_of};

/// The smallest buffer cache, in bytes.
pub const CACHE_BYTES_MIN: u64 = 1 << 20;
/// The largest: 16 TiB, as many blocks as the embedded instance can count.
pub const CACHE_BYTES_MAX: u64 = 1 << 44;

/// The size of the buffer cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheSize {
    /// So many bytes.
    Bytes(u64),
    /// So large that the processor's caches do not answer in place of memory.
    BeyondCaches,
}

/// The word for a cache that scales with the processor's caches.
pub const BEYOND_CACHES: &str = "beyond-caches";

impl CacheSize {
    /// Reads a size or [`BEYOND_CACHES`].
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text == BEYOND_CACHES {
            return Some(CacheSize::BeyondCaches);
        }
        let ByteSize(bytes) = text.parse().ok()?;
        (CACHE_BYTES_MIN..=CACHE_BYTES_MAX)
            .contains(&bytes)
            .then_some(CacheSize::Bytes(bytes))
    }

    /// What [`Self::parse`] accepts.
    pub(crate) fn expected() -> String {
        let (min, max) = (ByteSize(CACHE_BYTES_MIN), ByteSize(CACHE_BYTES_MAX));
        format!("a size from {min} to {max} such as 256MiB, or {BEYOND_CACHES}")
    }
}

/// The table of backings.
pub const BACKINGS: &[Word<Backing>] = &[
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
];

/// Reads a page size: a power of two of at least 4 KiB.
pub(crate) fn parse_page_bytes(text: &str) -> Option<u64> {
    let ByteSize(bytes) = text.parse().ok()?;
    (bytes >= 4096 && bytes.is_power_of_two()).then_some(bytes)
}

/// What [`parse_page_bytes`] accepts.
pub(crate) const PAGE_SIZE_EXPECTED: &str = "a page size such as 4KiB, 2MiB or 1GiB";

/// On which nodes the pages are to lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AllocationChoice {
    /// No policy.
    OsDefault,
    /// Page by page over these nodes.
    Interleave(Place<NodeId>),
    /// On these nodes only.
    Bind(Place<NodeId>),
}

/// The kinds of allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllocationKind {
    /// See [`AllocationChoice::OsDefault`].
    OsDefault,
    /// See [`AllocationChoice::Interleave`].
    Interleave,
    /// See [`AllocationChoice::Bind`].
    Bind,
}

/// The table of allocations.
pub const ALLOCATIONS: &[Word<AllocationKind>] = &[
    Word {
        value: AllocationKind::OsDefault,
        name: "os-default",
        about: "no policy: a page lies where the CPU ran that first touched it",
    },
    Word {
        value: AllocationKind::Interleave,
        name: "interleave:PLACE",
        about: "page by page over the nodes of PLACE (MPOL_INTERLEAVE)",
    },
    Word {
        value: AllocationKind::Bind,
        name: "bind:PLACE",
        about: "on the nodes of PLACE and nowhere else (MPOL_BIND)",
    },
];

impl AllocationChoice {
    /// Reads a kind and, where the kind has one, its place.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (kind, place) = match text.split_once(':') {
            Some((kind, place)) => (format!("{kind}:PLACE"), Some(Place::parse(place)?)),
            None => (text.to_owned(), None),
        };
        match (value_of(ALLOCATIONS, &kind)?, place) {
            (AllocationKind::OsDefault, None) => Some(AllocationChoice::OsDefault),
            (AllocationKind::Interleave, Some(place)) => Some(AllocationChoice::Interleave(place)),
            (AllocationKind::Bind, Some(place)) => Some(AllocationChoice::Bind(place)),
            _ => None,
        }
    }

    /// What [`Self::parse`] accepts.
    pub(crate) fn expected() -> String {
        format!(
            "{} where PLACE is {}",
            names(ALLOCATIONS),
            Place::<NodeId>::expected()
        )
    }

    /// `text` with the word replaced that was most likely mistyped.
    pub(crate) fn nearest(text: &str) -> Option<String> {
        use super::place::nearest_place;
        use super::vocabulary::nearest;
        let Some((kind, place)) = text.split_once(':') else {
            return nearest(text, ["os-default"]).map(str::to_owned);
        };
        let kind = nearest(kind, ["interleave", "bind"])?;
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
        assert_eq!(parse_page_bytes("4KiB"), Some(4096));
        assert_eq!(parse_page_bytes("2M"), Some(2 << 20));
        assert_eq!(parse_page_bytes("1000"), None);
        assert_eq!(parse_page_bytes("3MiB"), None);
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
            let _ = (CacheSize::parse(&text), parse_page_bytes(&text));
        }
    }
}
