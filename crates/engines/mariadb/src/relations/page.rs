//! What the header of an InnoDB page says: fil0types.h, fil0fil.h and page0types.h of MariaDB.

/// Bytes of a header that are read: that of the file (38) and that of an index page (36).
pub(super) const HEADER_BYTES: usize = 74;

/// `FIL_PAGE_TYPE`s that have an index id: `FIL_PAGE_INDEX`, `FIL_PAGE_RTREE`,
/// `FIL_PAGE_TYPE_INSTANT`, and `FIL_PAGE_SDI` of MySQL.
const OF_AN_INDEX: [u16; 4] = [17855, 17854, 18, 17853];
/// Of large values: `FIL_PAGE_TYPE_BLOB`, `…_ZBLOB`, `…_ZBLOB2`, and the `…_LOB_…` of MySQL.
const OF_LARGE_VALUES: [u16; 11] = [10, 11, 12, 22, 23, 24, 25, 26, 27, 28, 29];
/// `FIL_PAGE_UNDO_LOG`, and `FIL_PAGE_TYPE_RSEG_ARRAY` of MySQL.
const OF_UNDO: [u16; 2] = [2, 21];
/// Of the space itself: `FIL_PAGE_TYPE_ALLOCATED`, `…_INODE`, `…_IBUF_FREE_LIST`, `…_IBUF_BITMAP`,
/// `…_SYS`, `…_TRX_SYS`, `…_FSP_HDR`, `…_XDES`, `…_UNKNOWN`.
const OF_THE_SPACE: [u16; 9] = [0, 3, 4, 5, 6, 7, 8, 9, 13];

/// What a page belongs to in its tablespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Part {
    /// An index, by its id; the clustered index is the table.
    Index(u64),
    /// Large values, outside of their rows.
    LargeValues,
    /// Undo logs.
    Undo,
    /// Administration of the space.
    Space,
}

/// A page of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Page {
    /// `FIL_PAGE_SPACE_ID`.
    pub space: u32,
    /// `FIL_PAGE_OFFSET`, in pages.
    pub number: u32,
    /// What it belongs to there.
    pub part: Part,
}

/// Reads a header; `None` if no page has such a one.
pub(super) fn parse(header: &[u8; HEADER_BYTES]) -> Option<Page> {
    let two = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    let four = |at: usize| (u32::from(two(at)) << 16) | u32::from(two(at + 2));
    let (number, kind, space) = (four(4), two(24), four(34));
    // A frame that was never used is empty.
    if (number, kind, space) == (0, 0, 0) {
        return None;
    }
    // PAGE_INDEX_ID, behind the 38 bytes of the file's header.
    let index = u64::from(four(66)) << 32 | u64::from(four(70));
    let part = match kind {
        kind if OF_AN_INDEX.contains(&kind) => Part::Index(index),
        kind if OF_LARGE_VALUES.contains(&kind) => Part::LargeValues,
        kind if OF_UNDO.contains(&kind) => Part::Undo,
        kind if OF_THE_SPACE.contains(&kind) => Part::Space,
        _ => return None,
    };
    Some(Page {
        space,
        number,
        part,
    })
}

/// The pages of a tablespace from its first page: `FSP_SIZE` (fsp0fsp.h); `None` if it is not a
/// first page, whose `FSP_SPACE_ID` is the id of the page.
pub(super) fn space_pages(header: &[u8; HEADER_BYTES]) -> Option<u32> {
    let same =
        |one: std::ops::Range<usize>, other: std::ops::Range<usize>| header[one] == header[other];
    let is_first = header[4..8] == [0; 4] && header[24..26] == [0, 8] && same(34..38, 38..42);
    is_first.then(|| u32::from_be_bytes([header[46], header[47], header[48], header[49]]))
}

/// The size of the pages of a tablespace from its first page: `FSP_SPACE_FLAGS` (fsp0types.h);
/// `None` for sizes that InnoDB does not have.
pub(super) fn page_bytes(header: &[u8; HEADER_BYTES]) -> Option<u64> {
    let flags = u32::from_be_bytes([header[54], header[55], header[56], header[57]]);
    // With full_crc32 (MariaDB 10.4) the low bits are the size, else bits 6 to 9 (0 is 16 KiB).
    let is_full_crc32 = flags & 0x10 != 0;
    let shift = match is_full_crc32 {
        true => flags & 0xf,
        false => (flags >> 6) & 0xf,
    };
    match shift {
        0 if !is_full_crc32 => Some(16 << 10),
        3..=7 => Some(512 << shift),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(number: u32, kind: u16, space: u32, index: u64) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        header[4..8].copy_from_slice(&number.to_be_bytes());
        header[24..26].copy_from_slice(&kind.to_be_bytes());
        header[34..38].copy_from_slice(&space.to_be_bytes());
        header[66..74].copy_from_slice(&index.to_be_bytes());
        header
    }

    #[test]
    fn headers_name_space_page_and_index() {
        let part = |kind| parse(&header(7, kind, 5, 0x1_0000_0002)).map(|it| it.part);
        let page = parse(&header(7, 17855, 5, 0x1_0000_0002)).unwrap();
        assert_eq!((page.space, page.number), (5, 7));
        assert_eq!(page.part, Part::Index(0x1_0000_0002));
        assert_eq!(part(10), Some(Part::LargeValues));
        assert_eq!(part(2), Some(Part::Undo));
        assert_eq!(part(8), Some(Part::Space));
        assert_eq!(part(1000), None);
        assert_eq!(parse(&[0; HEADER_BYTES]), None);
        assert_eq!(parse(&[0xff; HEADER_BYTES]), None);
    }

    #[test]
    fn first_pages_have_the_size_of_their_space() {
        let mut first = header(0, 8, 5, 0);
        first[38..42].copy_from_slice(&5_u32.to_be_bytes());
        first[46..50].copy_from_slice(&4608_u32.to_be_bytes());
        assert_eq!(space_pages(&first), Some(4608));
        assert_eq!(space_pages(&header(0, 8, 5, 0)), None);
        assert_eq!(space_pages(&header(1, 8, 0, 0)), None);
        assert_eq!(space_pages(&[0; HEADER_BYTES]), None);
    }

    #[test]
    fn sizes_of_pages_are_those_of_the_flags() {
        let check = |flags: u32, expected| {
            let mut header = [0; HEADER_BYTES];
            header[54..58].copy_from_slice(&flags.to_be_bytes());
            assert_eq!(page_bytes(&header), expected, "{flags:#x}");
        };
        check(0, Some(16 << 10));
        check(0x15, Some(16 << 10));
        check(0x13, Some(4 << 10));
        check(0x10, None);
        check(7 << 6, Some(64 << 10));
        check(9 << 6, None);
    }
}
