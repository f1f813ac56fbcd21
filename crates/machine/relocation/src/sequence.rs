//! The nodes of consecutive pages as short text: `0x512 (1,2)x64 -x3`. Repetitions are folded, so
//! that interleaved memory is as short as memory on one node.

use std::fmt::Write;

use model::NodeId;

/// The node of each page; `None` where there is no page.
pub(super) type Sequence = Vec<Option<NodeId>>;

/// The longest repetition to look for: interleaving over this many nodes.
const PERIOD_MAX: usize = 64;

/// Pages that one text may stand for: bounds a hostile `0x99999999999`.
pub(super) const PAGES_MAX: usize = 1 << 20;

/// Returns the text of a sequence.
pub(super) fn encode(nodes: &[Option<NodeId>]) -> String {
    let mut text = String::new();
    let mut rest = nodes;
    while !rest.is_empty() {
        let (period, repeats) = longest(rest);
        if !text.is_empty() {
            text.push(' ');
        }
        let atoms: Vec<String> = rest[..period].iter().map(atom).collect();
        let unit = atoms.join(",");
        let written = match (period, repeats) {
            (1, 1) => write!(text, "{unit}"),
            (1, _) => write!(text, "{unit}x{repeats}"),
            _ => write!(text, "({unit})x{repeats}"),
        };
        written.expect("writing to a string cannot fail");
        rest = &rest[period * repeats..];
    }
    text
}

fn atom(node: &Option<NodeId>) -> String {
    node.map_or_else(|| "-".to_owned(), |node| node.to_string())
}

/// Returns the length of the unit and how often it repeats from the start, for the shortest unit
/// that covers the most pages; a single page where nothing repeats.
fn longest(nodes: &[Option<NodeId>]) -> (usize, usize) {
    let mut best = (1, 1);
    for period in 1..=PERIOD_MAX.min(nodes.len() / 2) {
        let same = |(one, other): &(&Option<NodeId>, &Option<NodeId>)| one == other;
        let alike = nodes.iter().zip(&nodes[period..]).take_while(same).count();
        let repeats = alike / period + 1;
        if repeats > 1 && period * repeats > best.0 * best.1 {
            best = (period, repeats);
        }
        if period * repeats == nodes.len() {
            break;
        }
    }
    best
}

/// Parses a sequence.
///
/// # Errors
/// What is wrong with the text.
pub(super) fn decode(text: &str) -> Result<Sequence, String> {
    let mut nodes = Sequence::new();
    for token in text.split(' ').filter(|token| !token.is_empty()) {
        let refused = || format!("expected nodes such as \"0x512 (1,2)x64\", found {token:?}");
        let (unit, repeats) = match token.rsplit_once('x') {
            Some((unit, repeats)) => (unit, repeats.parse().map_err(|_| refused())?),
            None => (token, 1_usize),
        };
        let inner = unit.strip_prefix('(').and_then(|it| it.strip_suffix(')'));
        let atoms = inner.unwrap_or(unit).split(',').map(|atom| match atom {
            "-" => Ok(None),
            node => node.parse().map(|node| Some(NodeId(node))),
        });
        let unit: Sequence = atoms.collect::<Result<_, _>>().map_err(|_| refused())?;
        let pages = unit.len().checked_mul(repeats);
        let fits = pages.is_some_and(|pages| pages <= PAGES_MAX - nodes.len());
        if !fits || repeats == 0 {
            return Err(refused());
        }
        for _ in 0..repeats {
            nodes.extend_from_slice(&unit);
        }
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nodes(list: &[i64]) -> Sequence {
        let node = |node: &i64| u32::try_from(*node).ok().map(NodeId);
        list.iter().map(node).collect()
    }

    #[test]
    fn repetitions_are_folded() {
        let check = |list: &[i64], expected: &str| {
            assert_eq!(encode(&nodes(list)), expected);
            assert_eq!(decode(expected).unwrap(), nodes(list));
        };
        check(&[], "");
        check(&[3], "3");
        check(&[0; 512], "0x512");
        check(&[0, 1, 2, 0, 1, 2, 0], "(0,1,2)x2 0");
        check(&[-1, -1, 4, 4, 4], "-x2 4x3");
    }

    #[test]
    fn an_interleaving_over_many_nodes_is_short() {
        let list: Vec<i64> = (0..4096).map(|page| page % 32).collect();
        assert!(encode(&nodes(&list)).len() < 100);
    }

    #[test]
    fn hostile_texts_are_refused() {
        for text in [
            "x",
            "0x",
            "0x0",
            "(0",
            "0,",
            "0x99999999999999999999",
            "0x1048577",
            "0x-1",
        ] {
            assert!(decode(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_sequence_survives(list in prop::collection::vec(-1..5_i64, 0..300)) {
            prop_assert_eq!(decode(&encode(&nodes(&list))).unwrap(), nodes(&list));
        }

        #[test]
        fn random_nodes_take_few_bytes(list in prop::collection::vec(-1..64_i64, 64..300)) {
            prop_assert!(encode(&nodes(&list)).len() <= 5 * list.len());
        }
    }

    #[test]
    fn no_text_panics() {
        testing::any_text("[-0-9x(), ]{0,40}|\\PC*", &|text| {
            let _ = decode(text);
        });
    }
}
