//! Places: nodes and CPUs, as symbolic names or as lists in the kernel's format.

use model::{CpuId, Id, IdSet, NodeId};

use super::quantity::Quantity;
use super::vocabulary::{Word, names, nearest, value_of};

/// Some nodes, or the CPUs of some nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place<I: Id> {
    /// A symbolic name, resolved on the machine.
    Symbol(Symbol),
    /// A list of ids.
    List(IdSet<I>),
}

/// A symbolic place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symbol {
    /// Everything.
    All,
    /// The first node with CPUs and memory.
    FirstNode,
    /// The other node with memory that is nearest to the first node.
    Nearest,
    /// The node with memory that is farthest from the first node.
    Farthest,
}

/// The table of symbolic places.
pub(crate) const PLACES: &[Word<Symbol>] = &[
    Word {
        value: Symbol::All,
        name: "all",
        about: "all nodes with memory; as CPUs: all CPUs",
    },
    Word {
        value: Symbol::FirstNode,
        name: "first-node",
        about: "the first node that has both CPUs and memory; as CPUs: its CPUs",
    },
    Word {
        value: Symbol::Nearest,
        name: "nearest",
        about: "the other node with memory nearest to first-node by the firmware's distances; the \
                lowest id on a tie",
    },
    Word {
        value: Symbol::Farthest,
        name: "farthest",
        about: "the node with memory farthest from first-node by the firmware's distances; the \
                lowest id on a tie",
    },
];

impl<I: Id> Place<I> {
    /// Parses a symbolic place or a non-empty list of ids.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Some(symbol) = value_of(PLACES, text) {
            return Some(Place::Symbol(symbol));
        }
        let list: IdSet<I> = text.parse().ok()?;
        (!list.is_empty()).then_some(Place::List(list))
    }

    /// Returns what [`Self::parse`] accepts, for messages.
    pub(crate) fn expected() -> String {
        format!("{}, or a list of ids such as 0-3,8", names(PLACES))
    }
}

/// Returns the symbolic place most similar to `text`.
pub(crate) fn nearest_place(text: &str) -> Option<&'static str> {
    nearest(text, PLACES.iter().map(|word| word.name))
}

/// Two CPUs, by what they share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CpuPair {
    /// Two hardware threads of one core.
    OneCore,
    /// Two cores of one package.
    TwoCores,
    /// Cores of two packages.
    TwoPackages,
}

/// The table of pairs of CPUs.
pub(crate) const CPU_PAIRS: &[Word<CpuPair>] = &[
    Word {
        value: CpuPair::OneCore,
        name: "one-core",
        about: "two hardware threads of one core",
    },
    Word {
        value: CpuPair::TwoCores,
        name: "two-cores",
        about: "two CPUs on two cores of one package",
    },
    Word {
        value: CpuPair::TwoPackages,
        name: "two-packages",
        about: "two CPUs on two packages",
    },
];

/// The word for keeping inherited CPUs or memory nodes.
pub(crate) const INHERITED: &str = "inherited";

/// The requested memory nodes of the processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemoryChoice {
    /// As inherited.
    Inherited,
    /// Only these.
    Only(Place<NodeId>),
}

impl MemoryChoice {
    /// Parses `inherited` or a place.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text == INHERITED {
            return Some(MemoryChoice::Inherited);
        }
        Place::parse(text).map(MemoryChoice::Only)
    }

    /// Returns what [`Self::parse`] accepts, for messages.
    pub(crate) fn expected() -> String {
        format!("{INHERITED}, {}", Place::<NodeId>::expected())
    }
}

/// The requested CPUs of the processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CpuChoice {
    /// As inherited.
    Inherited,
    /// All CPUs of a place.
    All(Place<CpuId>),
    /// A number of CPUs of a place.
    Some(Place<CpuId>, Quantity),
    /// Two CPUs, by what they share.
    Pair(CpuPair),
}

impl CpuChoice {
    /// Parses `inherited`, a pair of CPUs, a place, or a place with a quantity: `first-node:6`.
    ///
    /// A list of ids may itself contain colons (`0-10:2/4`); the text after the last colon decides.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text == INHERITED {
            return Some(CpuChoice::Inherited);
        }
        if let Some(pair) = value_of(CPU_PAIRS, text) {
            return Some(CpuChoice::Pair(pair));
        }
        let counted = text.rsplit_once(':').and_then(|(place, count)| {
            Some(CpuChoice::Some(
                Place::parse(place)?,
                Quantity::parse(count)?,
            ))
        });
        counted.or_else(|| Place::parse(text).map(CpuChoice::All))
    }

    /// Returns what [`Self::parse`] accepts, for messages.
    pub(crate) fn expected() -> String {
        format!(
            "{INHERITED}, {}, {}; a colon and a quantity may follow, as in first-node:6 or \
             first-node:limit",
            names(CPU_PAIRS),
            Place::<CpuId>::expected()
        )
    }

    /// Returns `text` with the misspelt part replaced by the most similar valid word.
    pub(crate) fn nearest(text: &str) -> Option<String> {
        let Some((place, count)) = text.rsplit_once(':') else {
            let words = PLACES.iter().map(|word| word.name);
            let words = words.chain(CPU_PAIRS.iter().map(|word| word.name));
            return nearest(text, words).map(str::to_owned);
        };
        let right_place = Place::<CpuId>::parse(place).map(|_| place);
        let right_count = Quantity::parse(count).map(|_| count);
        let place = right_place.or_else(|| nearest_place(place))?;
        let count = right_count.or_else(|| Quantity::nearest(count))?;
        Some(format!("{place}:{count}"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::quantity::Scaled;
    use super::*;
    use proptest::prelude::*;

    fn list<I: Id>(text: &str) -> Place<I> {
        Place::List(text.parse().unwrap())
    }

    #[test]
    fn cpus_are_a_place_and_perhaps_a_count() {
        let check = |text, expected| assert_eq!(CpuChoice::parse(text), Some(expected), "{text}");
        let first = Place::Symbol(Symbol::FirstNode);
        check("inherited", CpuChoice::Inherited);
        check("first-node", CpuChoice::All(first.clone()));
        check(
            "first-node:6",
            CpuChoice::Some(first.clone(), Quantity::Number(6)),
        );
        check(
            "first-node:limit",
            CpuChoice::Some(first, Quantity::Scaled(Scaled::Limit)),
        );
        check("1-9", CpuChoice::All(list("1-9")));
        check("0-10:2/4", CpuChoice::All(list("0-10:2/4")));
        check("0-10:2", CpuChoice::Some(list("0-10"), Quantity::Number(2)));
        check(
            "0-10:2/4:3",
            CpuChoice::Some(list("0-10:2/4"), Quantity::Number(3)),
        );
    }

    #[test]
    fn texts_that_are_no_place_are_none() {
        for text in [
            "",
            ":",
            "first-node:",
            ":6",
            "first-node:0",
            "node0",
            "0-",
            "0-99999999",
        ] {
            assert_eq!(CpuChoice::parse(text), None, "{text}");
            assert_eq!(MemoryChoice::parse(text), None, "{text}");
        }
        assert_eq!(MemoryChoice::parse("first-node:6"), None);
    }

    #[test]
    fn the_mistyped_half_is_found() {
        let check = |text, expected: &str| {
            assert_eq!(CpuChoice::nearest(text).as_deref(), Some(expected));
        };
        check("first_node", "first-node");
        check("first-node:limt", "first-node:limit");
        check("firstnode:6", "first-node:6");
        check("0-9:reader", "0-9:readers");
        assert_eq!(CpuChoice::nearest("xyz:6"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = (CpuChoice::parse(&text), CpuChoice::nearest(&text));
            let _ = MemoryChoice::parse(&text);
        }
    }
}
