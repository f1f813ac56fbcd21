//! `/proc/zoneinfo`: where the zones of each node begin and end in physical memory, which matters
//! for memory blocks that cross the border of two nodes, and how much of them is free, and for
//! whom.

use std::str::SplitAsciiWhitespace;

use model::NodeId;

use crate::{Error, Root, TextFile};

/// A zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Zone {
    /// The node of the zone.
    pub node: NodeId,
    /// Which one it is.
    pub kind: ZoneKind,
    /// First frame number.
    pub start: u64,
    /// Frames, holes included; holes may belong to other nodes.
    pub frames: u64,
    /// Free pages.
    pub free: u64,
    /// The watermark `low`, in pages: with fewer free, the kernel reclaims memory and gives
    /// ordinary programs pages of this zone only in need (mm/page_alloc.c,
    /// `get_page_from_freelist`).
    pub low: u64,
    /// Pages that the kernel keeps for those who can use no higher zone, as old devices can
    /// (`lowmem_reserve`; kernel, admin-guide/sysctl/vm.rst, `lowmem_reserve_ratio`).
    pub kept: u64,
}

/// Who can use a zone (include/linux/mmzone.h, `enum zone_type`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ZoneKind {
    /// `DMA` and `DMA32`: everybody, and devices that reach nothing else.
    OfDevices,
    /// `Normal`, `HighMem` and others: everybody.
    #[default]
    Normal,
    /// `Movable`: what the kernel can move elsewhere. Not the kernel's own memory, gigantic pages,
    /// and pages that are pinned.
    Movable,
}

impl Zone {
    /// Free pages that ordinary programs get before the kernel reclaims any.
    pub fn usable(&self) -> u64 {
        let kept = self.low.saturating_add(self.kept);
        self.free.saturating_sub(kept)
    }
}

/// The zones that have frames; empty when the kernel does not show them.
///
/// # Errors
/// When the file is malformed.
pub fn read(root: &Root) -> Result<Vec<Zone>, Error> {
    let file = root.read_optional("proc/zoneinfo")?;
    file.map_or(Ok(Vec::new()), |file| parse(&file))
}

fn parse(file: &TextFile) -> Result<Vec<Zone>, Error> {
    let mut zones = Vec::new();
    let mut zone: Option<Zone> = None;
    for (number, line) in file.lines() {
        let mut words = line.split_ascii_whitespace();
        let value = |found: &str| {
            let value = found.trim_matches([',', '(', ')']).parse::<u64>();
            value.map_err(|_| file.malformed(number, "a number", found))
        };
        let next = |words: &mut SplitAsciiWhitespace<'_>| value(words.next().unwrap_or(""));
        // Node 0, zone   Normal
        //   pages free     3840
        //         low      12864
        //         spanned  5505024
        //         protection: (0, 1793, 3806, 3806, 3806)
        //   start_pfn:           1048576
        let first = words.next();
        if first == Some("Node") {
            let id = u32::try_from(next(&mut words)?);
            let id = id.map_err(|_| file.malformed(number, "a node", line))?;
            let kind = words.nth(1).map_or(ZoneKind::Normal, kind);
            zone = Some(Zone {
                node: NodeId(id),
                kind,
                ..Zone::default()
            });
            continue;
        }
        let Some(zone) = &mut zone else { continue };
        match first {
            Some("pages") if words.next() == Some("free") => zone.free = next(&mut words)?,
            Some("low") => zone.low = next(&mut words)?,
            Some("spanned") => zone.frames = next(&mut words)?,
            // The last one is for those who can use every zone.
            Some("protection:") => zone.kept = words.next_back().map_or(Ok(0), value)?,
            Some("start_pfn:") => {
                zone.start = next(&mut words)?;
                zones.extend(Some(*zone).filter(|zone| zone.frames > 0));
            }
            _ => {}
        }
    }
    Ok(zones)
}

fn kind(name: &str) -> ZoneKind {
    match name {
        "DMA" | "DMA32" => ZoneKind::OfDevices,
        "Movable" => ZoneKind::Movable,
        _ => ZoneKind::Normal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn zones_with_frames_are_read() {
        let text = "Node 0, zone      DMA\n  per-node stats\n  pages free     3840\n        \
                    boost    0\n        low      13\n        spanned  4095\n        protection: \
                    (0, 1793, 3000, 3806)\n\
                    \x20 start_pfn:           1\nNode 1, zone   Normal\n        spanned  7\n\
                    \x20 start_pfn:           4096\nNode 1, zone  Movable\n        spanned  0\n\
                    \x20 start_pfn:           0\nNode 2, zone  Movable\n  pages free 9\n\
                    \x20 spanned 9\n  start_pfn: 0\n";
        let zones = parse(&TextFile::new("/zoneinfo", text)).unwrap();
        let zone = |node, start, frames| Zone {
            node: NodeId(node),
            start,
            frames,
            ..Zone::default()
        };
        let dma = Zone {
            kind: ZoneKind::OfDevices,
            free: 3840,
            low: 13,
            kept: 3806,
            ..zone(0, 1, 4095)
        };
        let movable = Zone {
            kind: ZoneKind::Movable,
            free: 9,
            ..zone(2, 0, 9)
        };
        assert_eq!(zones, [dma, zone(1, 4096, 7), movable]);
        let usable: Vec<u64> = zones.iter().map(Zone::usable).collect();
        assert_eq!(usable, [21, 0, 9]);
        assert!(parse(&TextFile::new("/zoneinfo", "Node x, zone DMA\n")).is_err());
    }

    #[test]
    fn zones_of_this_machine_have_no_more_than_is_free() {
        for zone in read(&Root::live()).unwrap() {
            assert!(zone.usable() <= zone.free && zone.free <= zone.frames);
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(
            lines in prop::collection::vec(
                "(Node|pages free|low|spanned|protection:|start_pfn:) +[(]?[0-9x]{0,22},? ?",
                0..9
            )
        ) {
            let text = lines.join("\n");
            let _ = parse(&TextFile::new("/zoneinfo", text));
        }
    }
}
