//! Numbers of sessions and CPUs that scale with the machine.

use super::vocabulary::{Word, names, nearest, value_of};

/// Maximum number of sessions or CPUs in a definition: Linux supports at most 8192 CPUs.
pub(crate) const QUANTITY_MAX: u32 = 8192;

/// A number of sessions or CPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// A plain number, from 1 to `QUANTITY_MAX`.
    Number(u32),
    /// A number that depends on the machine.
    Scaled(Scaled),
}

/// A number from an article, scaled to the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scaled {
    /// Article 001's nine readers.
    Readers,
    /// Article 001's nine CPUs for nine readers.
    ReaderCpus,
    /// Article 001's limit of six.
    Limit,
    /// Article 000's eight readers.
    LocalReaders,
    /// Article 000's nine CPUs.
    LocalCpus,
    /// Every CPU of the machine.
    AllCpus,
}

/// The table of scaled quantities. "CPUs" are the usable CPUs of `first-node`.
pub(crate) const QUANTITIES: &[Word<Scaled>] = &[
    Word {
        value: Scaled::Readers,
        name: "readers",
        about: "nine, or the number of CPUs of first-node if that is less, but at least three",
    },
    Word {
        value: Scaled::ReaderCpus,
        name: "reader-cpus",
        about: "`readers`, but at most the number of CPUs of first-node",
    },
    Word {
        value: Scaled::Limit,
        name: "limit",
        about: "two thirds of `readers`, rounded down (six of nine), but at least one and less \
                than the number of CPUs of first-node",
    },
    Word {
        value: Scaled::LocalReaders,
        name: "local-readers",
        about: "eight, or the number of CPUs of first-node if that is less",
    },
    Word {
        value: Scaled::LocalCpus,
        name: "local-cpus",
        about: "nine, or the number of CPUs of first-node if that is less",
    },
    Word {
        value: Scaled::AllCpus,
        name: "all-cpus",
        about: "the number of usable CPUs, on all nodes",
    },
];

impl Quantity {
    /// Parses a number or the name of a scaled quantity.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Some(scaled) = value_of(QUANTITIES, text) {
            return Some(Quantity::Scaled(scaled));
        }
        let all_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let number = all_digits.then(|| text.parse().ok())?;
        number.and_then(Self::of_number)
    }

    /// Returns a plain number, if it is in range.
    pub(crate) fn of_number(number: u32) -> Option<Self> {
        (1..=QUANTITY_MAX)
            .contains(&number)
            .then_some(Quantity::Number(number))
    }

    /// Returns what [`Self::parse`] accepts, for messages.
    pub(crate) fn expected() -> String {
        format!(
            "a number from 1 to {QUANTITY_MAX}, or one of {}",
            names(QUANTITIES)
        )
    }

    /// Returns the scaled quantity most similar to `text`.
    pub(crate) fn nearest(text: &str) -> Option<&'static str> {
        nearest(text, QUANTITIES.iter().map(|word| word.name))
    }

    /// Returns the quantity on a machine whose first-node has `cpus` usable CPUs. `None` where it
    /// has no value: a limit needs two CPUs, any other scaled quantity needs one.
    ///
    /// `all-cpus` does not depend on first-node and has no value here.
    pub(crate) fn on_first_node_with(self, cpus: u32) -> Option<u32> {
        let scaled = match self {
            Quantity::Number(number) => return Some(number),
            Quantity::Scaled(scaled) => scaled,
        };
        if cpus == 0 {
            return None;
        }
        let readers = cpus.clamp(3, 9);
        Some(match scaled {
            Scaled::Readers => readers,
            Scaled::ReaderCpus => readers.min(cpus),
            Scaled::Limit if cpus == 1 => return None,
            Scaled::Limit => (readers * 2 / 3).clamp(1, cpus - 1),
            Scaled::LocalReaders => cpus.min(8),
            Scaled::LocalCpus => cpus.min(9),
            Scaled::AllCpus => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_scale_from_the_articles_machine_to_a_laptop() {
        fn check(name: &str, expected: [(u32, Option<u32>); 6]) {
            let quantity = Quantity::parse(name).unwrap();
            for (cpus, count) in expected {
                assert_eq!(quantity.on_first_node_with(cpus), count, "{name} on {cpus}");
            }
        }
        let on = |counts: [Option<u32>; 6]| {
            let cpus = [20, 9, 4, 3, 2, 1];
            std::array::from_fn(|index| (cpus[index], counts[index]))
        };
        check(
            "readers",
            on([Some(9), Some(9), Some(4), Some(3), Some(3), Some(3)]),
        );
        check(
            "reader-cpus",
            on([Some(9), Some(9), Some(4), Some(3), Some(2), Some(1)]),
        );
        check(
            "limit",
            on([Some(6), Some(6), Some(2), Some(2), Some(1), None]),
        );
        check(
            "local-readers",
            on([Some(8), Some(8), Some(4), Some(3), Some(2), Some(1)]),
        );
        check(
            "local-cpus",
            on([Some(9), Some(9), Some(4), Some(3), Some(2), Some(1)]),
        );
        check("7", on([Some(7); 6]));
    }

    #[test]
    fn texts_that_are_no_quantity_are_none() {
        for text in [
            "",
            "0",
            "8193",
            "-1",
            "+1",
            "1.5",
            "reader",
            "99999999999999999999",
            "٣",
        ] {
            assert_eq!(Quantity::parse(text), None, "{text}");
        }
        assert_eq!(Quantity::nearest("reader"), Some("readers"));
        assert_eq!(Quantity::nearest("limits"), Some("limit"));
    }

    #[test]
    fn every_limit_is_fewer_than_its_readers() {
        for cpus in 2..200 {
            let value = |scaled| Quantity::Scaled(scaled).on_first_node_with(cpus).unwrap();
            assert!(value(Scaled::Limit) < value(Scaled::Readers));
            assert!(value(Scaled::Limit) < cpus);
            assert!(value(Scaled::ReaderCpus) <= cpus);
        }
    }
}
