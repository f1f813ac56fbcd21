//! `/proc/zoneinfo`: where the zones of each node begin and end in physical memory. Needed where a
//! memory block lies across the border of two nodes.

use model::NodeId;

use crate::{Error, Root, TextFile};

/// The frames that one zone spans; holes in it may belong to other nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneSpan {
    /// The node of the zone.
    pub node: NodeId,
    /// First frame number.
    pub start: u64,
    /// Frames, holes included.
    pub frames: u64,
}

/// The zones that have frames; none when the kernel does not tell.
///
/// # Errors
/// When the file is malformed.
pub fn read(root: &Root) -> Result<Vec<ZoneSpan>, Error> {
    let file = root.read_optional("proc/zoneinfo")?;
    file.map_or(Ok(Vec::new()), |file| parse(&file))
}

fn parse(file: &TextFile) -> Result<Vec<ZoneSpan>, Error> {
    let mut zones = Vec::new();
    let (mut node, mut spanned) = (None, 0);
    for (number, line) in file.lines() {
        let mut words = line.split_ascii_whitespace();
        let value = |word: Option<&str>| {
            let found = word.unwrap_or("");
            let value = found.trim_end_matches(',').parse::<u64>();
            value.map_err(|_| file.malformed(number, "a number", found))
        };
        // Node 0, zone   Normal
        //         spanned  5505024
        //   start_pfn:           1048576
        match words.next() {
            Some("Node") => {
                let id = u32::try_from(value(words.next())?);
                node = Some(NodeId(
                    id.map_err(|_| file.malformed(number, "a node", line))?,
                ));
                spanned = 0;
            }
            Some("spanned") => spanned = value(words.next())?,
            Some("start_pfn:") => {
                let start = value(words.next())?;
                if let Some(node) = node.filter(|_| spanned > 0) {
                    zones.push(ZoneSpan {
                        node,
                        start,
                        frames: spanned,
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
        let text = "Node 0, zone      DMA\n  per-node stats\n        spanned  4095\n\
                    \x20 start_pfn:           1\nNode 1, zone   Normal\n        spanned  7\n\
                    \x20 start_pfn:           4096\nNode 1, zone  Movable\n        spanned  0\n\
                    \x20 start_pfn:           0\n";
        let zones = parse(&TextFile::new("/zoneinfo", text)).unwrap();
        let zone = |node, start, frames| ZoneSpan {
            node: NodeId(node),
            start,
            frames,
        };
        assert_eq!(zones, [zone(0, 1, 4095), zone(1, 4096, 7)]);
        assert!(parse(&TextFile::new("/zoneinfo", "Node x, zone DMA\n")).is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "((Node|spanned|start_pfn:) +[0-9x]{0,22},? ?\n?){0,9}") {
            let _ = parse(&TextFile::new("/zoneinfo", text));
        }
    }
}
