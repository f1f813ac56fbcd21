//! `/proc/zoneinfo`: where the zones of each node begin and end in physical memory, which matters
//! for memory blocks that cross the border of two nodes, and how much of them the kernel keeps
//! free.

use model::NodeId;

use crate::{Error, Root, TextFile};

/// A zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// The node of the zone.
    pub node: NodeId,
    /// First frame number.
    pub start: u64,
    /// Frames, holes included; holes may belong to other nodes.
    pub frames: u64,
    /// The watermark `low`, in pages: with fewer free, the kernel reclaims memory and gives
    /// ordinary programs pages of this zone only in need (mm/page_alloc.c,
    /// `get_page_from_freelist`).
    pub low: u64,
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
    let (mut node, mut spanned, mut low) = (None, 0, 0);
    for (number, line) in file.lines() {
        let mut words = line.split_ascii_whitespace();
        let value = |word: Option<&str>| {
            let found = word.unwrap_or("");
            let value = found.trim_end_matches(',').parse::<u64>();
            value.map_err(|_| file.malformed(number, "a number", found))
        };
        // Node 0, zone   Normal
        //         low      12864
        //         spanned  5505024
        //   start_pfn:           1048576
        match words.next() {
            Some("Node") => {
                let id = u32::try_from(value(words.next())?);
                node = Some(NodeId(
                    id.map_err(|_| file.malformed(number, "a node", line))?,
                ));
                (spanned, low) = (0, 0);
            }
            Some("low") => low = value(words.next())?,
            Some("spanned") => spanned = value(words.next())?,
            Some("start_pfn:") => {
                let start = value(words.next())?;
                if let Some(node) = node.filter(|_| spanned > 0) {
                    zones.push(Zone {
                        node,
                        start,
                        frames: spanned,
                        low,
                    });
                }
            }
            _ => {}
        }
    }
    Ok(zones)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn zones_with_frames_are_read() {
        let text = "Node 0, zone      DMA\n  per-node stats\n        low      13\n        \
                    spanned  4095\n\
                    \x20 start_pfn:           1\nNode 1, zone   Normal\n        spanned  7\n\
                    \x20 start_pfn:           4096\nNode 1, zone  Movable\n        spanned  0\n\
                    \x20 start_pfn:           0\n";
        let zones = parse(&TextFile::new("/zoneinfo", text)).unwrap();
        let zone = |node, start, frames, low| Zone {
            node: NodeId(node),
            start,
            frames,
            low,
        };
        assert_eq!(zones, [zone(0, 1, 4095, 13), zone(1, 4096, 7, 0)]);
        assert!(parse(&TextFile::new("/zoneinfo", "Node x, zone DMA\n")).is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "((Node|low|spanned|start_pfn:) +[0-9x]{0,22},? ?\n?){0,9}") {
            let _ = parse(&TextFile::new("/zoneinfo", text));
        }
    }
}
