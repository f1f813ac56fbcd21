//! Slots for memory modules by what firmware calls them: the processor and the channel of each, as
//! far as names tell.

use std::collections::BTreeMap;

use linux::memory_modules::MemorySlot;

/// What is in some slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filled {
    /// Slots.
    pub slots: usize,
    /// Those with a module.
    pub modules: usize,
    /// The size of all modules.
    pub bytes: u64,
}

/// Slots of each processor or array, and of each channel of those; none where the names do not tell
/// that of all slots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Groups {
    /// By processor.
    pub processors: BTreeMap<String, Filled>,
    /// By processor and channel.
    pub channels: BTreeMap<(String, String), Filled>,
}

/// Groups slots. `None` where the size of a module is unknown.
pub(crate) fn groups(slots: &[MemorySlot]) -> Option<Groups> {
    let mut groups = Groups::default();
    let arrays = arrays(slots);
    let (mut names_processors, mut names_channels) = (true, true);
    for slot in slots {
        let bytes = slot.bytes?;
        let add = |filled: &mut Filled| {
            filled.slots += 1;
            filled.modules += usize::from(bytes > 0);
            filled.bytes = filled.bytes.saturating_add(bytes);
        };
        let processor = processor(slot).or_else(|| arrays.get(&slot.array).cloned());
        names_processors &= processor.is_some();
        let processor = processor.unwrap_or_default();
        add(groups.processors.entry(processor.clone()).or_default());
        let channel = channel(slot);
        names_channels &= channel.is_some();
        let key = (processor, channel.unwrap_or_default());
        add(groups.channels.entry(key).or_default());
    }
    if !names_processors {
        groups.processors.clear();
    }
    // Of several processors, a channel of one is not that of another.
    if !names_channels || !names_processors {
        groups.channels.clear();
    }
    Some(groups)
}

/// The arrays of slots, if there are several: most servers have one for each processor or none.
fn arrays(slots: &[MemorySlot]) -> BTreeMap<u16, String> {
    let mut arrays: BTreeMap<u16, String> = BTreeMap::new();
    for slot in slots {
        let number = arrays.len() + 1;
        let name = || format!("array {number}");
        arrays.entry(slot.array).or_insert_with(name);
    }
    if arrays.len() < 2 {
        arrays.clear();
    }
    arrays
}

/// `CPU 1` of `CPU1_DIMM_A1`, `P1-DIMMA1`, `PROC 1 DIMM 3` or `P0_Node0_Channel0_Dimm0`.
fn processor(slot: &MemorySlot) -> Option<String> {
    let names = [&slot.locator, &slot.bank];
    names.into_iter().find_map(|name| {
        let words = words(name);
        let numbered = |kinds: &[&str], is: &str| {
            let found = words.iter().find(|(letters, label)| {
                kinds.contains(&letters.as_str()) && label.bytes().all(|it| it.is_ascii_digit())
            });
            found.map(|(_, number)| format!("{is} {number}"))
        };
        let kinds = ["CPU", "P", "PROC", "PROCESSOR", "SOCKET"];
        numbered(&kinds, "CPU").or_else(|| numbered(&["NODE"], "node"))
    })
}

/// `A` of `CPU1_DIMM_A1`, `P1-DIMMA1` or `P0 CHANNEL A`, `0` of `P0_Node0_Channel0_Dimm0`.
fn channel(slot: &MemorySlot) -> Option<String> {
    let names = [&slot.locator, &slot.bank];
    names.into_iter().find_map(|name| {
        let words = words(name);
        let named = words
            .iter()
            .find(|(letters, _)| ["CHANNEL", "CHAN", "CH"].contains(&letters.as_str()));
        if let Some((_, label)) = named {
            return Some(label.clone());
        }
        // The letter between DIMM and the number of the slot: in `DIMMA1`, or in `DIMM`, `A1`.
        let last = words.last()?.0.as_str();
        let letter = last.strip_prefix("DIMM").unwrap_or(last);
        let has_dimm = words.iter().any(|(letters, _)| letters.starts_with("DIMM"));
        (has_dimm && letter.len() == 1).then(|| letter.to_owned())
    })
}

/// The words of a name, each as its letters and the label after them: `CPU1` and `CPU 1` are one
/// word with the label 1, `CHANNEL A` has the label A.
fn words(name: &str) -> Vec<(String, String)> {
    let upper = name.to_ascii_uppercase();
    let parts = upper.split(|char: char| !char.is_ascii_alphanumeric());
    let mut words: Vec<(String, String)> = Vec::new();
    for part in parts.filter(|part| !part.is_empty()) {
        let at = part.find(|char: char| char.is_ascii_digit());
        let (letters, digits) = part.split_at(at.unwrap_or(part.len()));
        let is_label = letters.is_empty() || (digits.is_empty() && letters.len() == 1);
        match words.last_mut() {
            Some((_, label)) if is_label && label.is_empty() => *label = part.to_owned(),
            _ => words.push((letters.to_owned(), digits.to_owned())),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn slot(locator: &str, bank: &str) -> MemorySlot {
        MemorySlot {
            locator: locator.to_owned(),
            bank: bank.to_owned(),
            array: 1,
            bytes: Some(1 << 30),
        }
    }

    #[test]
    fn names_of_slots_tell_processor_and_channel_or_do_not() {
        let check = |locator: &str, bank: &str, expected: (Option<&str>, Option<&str>)| {
            let slot = slot(locator, bank);
            let found = (processor(&slot), channel(&slot));
            assert_eq!(
                (found.0.as_deref(), found.1.as_deref()),
                expected,
                "{slot:?}"
            );
        };
        let bank = "P0_Node0_Channel0_Dimm0";
        check("P1-DIMMA1", bank, (Some("CPU 1"), Some("A")));
        check("CPU1_DIMM_A1", "NODE 1", (Some("CPU 1"), Some("A")));
        check("CPU2 DIMM B", "", (Some("CPU 2"), None));
        check("PROC 1 DIMM 3", "Not Specified", (Some("CPU 1"), None));
        check("DIMM 0", "P1 CHANNEL C", (Some("CPU 1"), Some("C")));
        check("DIMM 0", bank, (Some("CPU 0"), Some("0")));
        check("DIMM_A1", "Node0_Bank0", (Some("node 0"), Some("A")));
        check("A1", "Not Specified", (None, None));
        check("RAM slot #0", "RAM slot #0", (None, None));
        check("DIMM 0", "", (None, None));
        check("", "", (None, None));
    }

    #[test]
    fn slots_are_grouped_if_all_names_tell() {
        let mut slots = vec![
            slot("P1-DIMMA1", ""),
            slot("P1-DIMMB1", ""),
            slot("P2-DIMMA1", ""),
        ];
        slots[1].bytes = Some(0);
        let found = groups(&slots).unwrap();
        let one = |modules| Filled {
            slots: 1,
            modules,
            bytes: (modules as u64) << 30,
        };
        let key = |cpu: &str, channel: &str| (cpu.to_owned(), channel.to_owned());
        let expected = [
            (key("CPU 1", "A"), one(1)),
            (key("CPU 1", "B"), one(0)),
            (key("CPU 2", "A"), one(1)),
        ];
        assert_eq!(found.channels, expected.into());
        assert_eq!(found.processors["CPU 1"].slots, 2);
        slots[2].locator = "A7".to_owned();
        assert_eq!(groups(&slots), Some(Groups::default()));
        // Two arrays are two groups, whatever names say.
        slots[2].array = 2;
        let found = groups(&slots).unwrap();
        assert_eq!(found.processors.len(), 2);
        assert!(found.channels.is_empty());
        slots[0].bytes = None;
        assert_eq!(groups(&slots), None);
    }

    proptest! {
        #[test]
        fn no_name_panics(locator in "[A-Za-z0-9_ #-]{0,20}|\\PC{0,9}", bank in "\\PC{0,9}") {
            let _ = groups(&[slot(&locator, &bank)]);
        }
    }
}
