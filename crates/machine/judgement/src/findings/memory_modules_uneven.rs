//! Memory modules that are not even over processors, and channels without any.

use model::{ByteSize, Severity};

use super::row::{Check, Row};
use crate::doctor::slots::{Filled, Groups, groups};
use crate::doctor::{DoctorInput, sight};
use crate::found::{Found, commands, fact};

pub(super) const ROW: Row = Row {
    id: "memory-modules-uneven",
    severity: Severity::Warning,
    about: "processors have different numbers of memory modules, or a channel has none",
    cost: "a processor has the bandwidth of the channels that have modules",
    cost_source: "`numalab bandwidth` measures what each node has",
    checks: &[Check::Doctor(sight::memory_slots, check)],
};

/// The channels that are named.
const LISTED_MAX: usize = 8;

fn check(input: &DoctorInput) -> Option<Found> {
    let groups = groups(input.memory_slots.as_ref()?)?;
    // A processor that is not there has slots, too; one without memory has a finding of its own.
    let filled = groups.processors.iter().filter(|(_, it)| it.modules > 0);
    let filled: Vec<(&String, &Filled)> = filled.collect();
    let of = |it: &Filled| (it.modules, it.bytes);
    let differ = filled.windows(2).any(|pair| of(pair[0].1) != of(pair[1].1));
    let empty = empty_channels(&groups);
    let words = |(name, it): &(&String, &Filled)| {
        let (modules, slots, bytes) = (it.modules, it.slots, ByteSize(it.bytes));
        format!("{name} has {modules} of {slots} slots filled, {bytes}")
    };
    let mut sentences = Vec::new();
    if differ {
        let all: Vec<String> = filled.iter().map(words).collect();
        sentences.push(all.join("; "));
    }
    if !empty.is_empty() {
        let more = match empty.len().saturating_sub(LISTED_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let listed: Vec<&str> = empty.iter().take(LISTED_MAX).map(String::as_str).collect();
        sentences.push(format!("no module in {}{more}", listed.join(", ")));
    }
    let evidence = filled
        .iter()
        .map(|it| fact("/sys/firmware/dmi/tables/DMI", words(it)));
    let found = Found {
        message: format!(
            "by the names that firmware gives its slots, {}",
            sentences.join("; ")
        ),
        evidence: evidence.collect(),
        fix: commands(&[
            "dmidecode --type memory",
            "# compare with the manual of the machine, which says where modules belong",
        ]),
        ..Found::default()
    };
    match (differ, empty.is_empty()) {
        (true, _) => Some(found),
        // As many on every processor may be what was ordered.
        (false, false) => Some(found.for_information()),
        (false, true) => None,
    }
}

/// The channels without a module, of processors that have some.
fn empty_channels(groups: &Groups) -> Vec<String> {
    let has_some = |name: &String| groups.processors.get(name).is_some_and(|it| it.modules > 0);
    let channels = groups.channels.iter();
    let empty = channels.filter(|((name, _), it)| it.modules == 0 && has_some(name));
    empty
        .map(|((name, channel), _)| format!("channel {channel} of {name}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use linux::memory_modules::MemorySlot;

    use super::*;

    /// What is found of slots with these GiB in them.
    fn found(slots: &[(&str, u64)]) -> Option<(Severity, String)> {
        let slot = |(locator, gib): &(&str, u64)| MemorySlot {
            locator: (*locator).to_owned(),
            bytes: Some(gib << 30),
            ..MemorySlot::default()
        };
        let found = check(&DoctorInput {
            memory_slots: Some(slots.iter().map(slot).collect()),
            ..DoctorInput::default()
        })?;
        Some((found.severity.unwrap_or(ROW.severity), found.message))
    }

    #[test]
    fn modules_that_differ_by_processor_are_found_and_channels_without_any_told() {
        let even = [
            ("P1-DIMMA1", 16),
            ("P1-DIMMB1", 16),
            ("P2-DIMMA1", 16),
            ("P2-DIMMB1", 16),
        ];
        assert_eq!(found(&even), None);
        let mut missing = even;
        missing[3].1 = 0;
        let expected = "by the names that firmware gives its slots, CPU 1 has 2 of 2 slots filled, \
                        32 GiB; CPU 2 has 1 of 2 slots filled, 16 GiB; no module in channel B of \
                        CPU 2";
        assert_eq!(
            found(&missing),
            Some((Severity::Warning, expected.to_owned()))
        );
        missing[1].1 = 0;
        let expected = "by the names that firmware gives its slots, no module in channel B of CPU \
                        1, channel B of CPU 2";
        assert_eq!(found(&missing), Some((Severity::Info, expected.to_owned())));
        // A second processor that is not there.
        let one = [("P1-DIMMA1", 16), ("P2-DIMMA1", 0), ("P2-DIMMB1", 0)];
        assert_eq!(found(&one), None);
        // Names that tell nothing.
        assert_eq!(found(&[("A1", 16), ("B1", 0)]), None);
        assert_eq!(found(&[]), None);
    }
}
