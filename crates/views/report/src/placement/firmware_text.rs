//! Measured distances beside those of the firmware, as text and as the document
//! `numalab.firmware/1`.

use model::{MeasuredDistances, TableReplacement};
use serde::Serialize;

use crate::form::style::{Style, TextOptions};

/// Name and version of the document.
const FIRMWARE_FORMAT: &str = "numalab.firmware/1";

/// The document.
#[derive(Debug, Serialize)]
pub struct FirmwareDocument<'a> {
    format: &'static str,
    #[serde(flatten)]
    distances: &'a MeasuredDistances,
    /// What replacing the firmware's table takes here; null for figures of another machine.
    replacement: Option<&'a TableReplacement>,
}

/// Returns the document.
pub fn firmware_document<'a>(
    distances: &'a MeasuredDistances,
    replacement: Option<&'a TableReplacement>,
) -> FirmwareDocument<'a> {
    FirmwareDocument {
        format: FIRMWARE_FORMAT,
        distances,
        replacement,
    }
}

/// Formats the tables.
pub fn firmware_text(
    distances: &MeasuredDistances,
    replacement: Option<&TableReplacement>,
    options: &TextOptions,
) -> String {
    let mut text = options.heading(&format!(
        "Distances from measured latency ({}): 10 is local",
        distances.source
    ));
    let measured = distances.measured.iter();
    let measured = measured.map(|row| row.iter().map(u8::to_string).collect());
    text.push_str(&table(distances, measured));
    text.push('\n');
    text.push_str(&options.heading("Distances of the firmware"));
    let of_firmware = distances.firmware.iter().map(|row| {
        let shown = |cell: &Option<u32>| cell.map_or_else(|| "?".to_owned(), |it| it.to_string());
        row.iter().map(shown).collect()
    });
    match distances.firmware.iter().flatten().all(Option::is_none) {
        true => text.push_str("unknown\n"),
        false => text.push_str(&table(distances, of_firmware)),
    }
    for note in &distances.notes {
        text.push_str(&options.paragraph("note: ", note, Style::Usual));
    }
    if distances.asymmetry > 0.0 {
        text.push('\n');
        text.push_str(&options.heading("Distances for schedulers, the same in both directions"));
        let both = distances.for_schedulers.iter();
        let both = both.map(|row| row.iter().map(u8::to_string).collect());
        text.push_str(&table(distances, both));
        let lost = format!(
            "they hide that the two directions of a pair differ by up to {:.0} %",
            100.0 * distances.asymmetry
        );
        text.push_str(&options.paragraph("note: ", &lost, Style::Usual));
    }
    if let Some(replacement) = replacement {
        text.push('\n');
        text.push_str(&options.heading("Can this machine boot with the measured table?"));
        for line in conditions(replacement) {
            text.push_str(&options.paragraph("- ", &line, Style::Usual));
        }
    }
    text
}

/// Rows and columns with the ids of their nodes, each column as wide as its widest cell.
fn table(distances: &MeasuredDistances, rows: impl Iterator<Item = Vec<String>>) -> String {
    let ids: Vec<String> = distances.nodes.iter().map(ToString::to_string).collect();
    let head = [vec![String::new()], ids.clone()].concat();
    let rows = ids.iter().zip(rows);
    let rows = rows.map(|(id, row)| [vec![id.clone()], row].concat());
    let lines: Vec<Vec<String>> = std::iter::once(head).chain(rows).collect();
    let widest = lines.iter().flatten().map(String::len).max().unwrap_or(0);
    let mut text = String::new();
    for line in lines {
        let cells = line.iter().map(|cell| format!("{cell:>widest$}"));
        let line = cells.collect::<Vec<_>>().join(" ");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn conditions(replacement: &TableReplacement) -> Vec<String> {
    let takes = match replacement.kernel_takes_tables {
        Some(true) => "the kernel takes tables from its initial RAM disk".to_owned(),
        Some(false) => "no: the kernel takes no tables from its initial RAM disk \
             (CONFIG_ACPI_TABLE_UPGRADE is not set)"
            .to_owned(),
        None => {
            "unknown: /boot has no configuration of this kernel; CONFIG_ACPI_TABLE_UPGRADE must \
             be set"
                .to_owned()
        }
    };
    let lockdown = match replacement.lockdown.as_deref() {
        None | Some("none") => "the kernel is not locked down".to_owned(),
        Some(mode) => format!(
            "no: the kernel is locked down ({mode}, as under Secure Boot) and takes no tables"
        ),
    };
    let replaced = match replacement.replaces {
        true => "the firmware has a table, which the measured one replaces",
        false => "the firmware has no table: the measured one is added",
    };
    vec![takes, lockdown, replaced.to_owned()]
}

#[cfg(test)]
mod tests {
    use model::NodeId;

    use super::*;

    #[test]
    fn both_tables_and_what_stands_in_the_way_are_shown() {
        let distances = MeasuredDistances {
            source: "matrix.txt".to_owned(),
            nodes: vec![NodeId(0), NodeId(12)],
            firmware: vec![vec![Some(10), Some(21)], vec![None, Some(10)]],
            measured: vec![vec![10, 40], vec![47, 10]],
            for_schedulers: vec![vec![10, 43], vec![43, 10]],
            asymmetry: 7.0 / 47.0,
            notes: Vec::new(),
        };
        let replacement = TableReplacement {
            kernel_takes_tables: Some(false),
            lockdown: Some("integrity".to_owned()),
            replaces: true,
        };
        let text = firmware_text(&distances, Some(&replacement), &TextOptions::default());
        for line in [
            "    0 12\n 0 10 40\n12 47 10\n",
            " 0 10 21\n12  ? 10\n",
            " 0 10 43\n12 43 10\n",
            "differ by up to 15 %",
            "CONFIG_ACPI_TABLE_UPGRADE is not set",
            "locked down (integrity, as under Secure Boot)",
        ] {
            assert!(text.contains(line), "{line:?} in\n{text}");
        }
        let document = serde_json::to_value(firmware_document(&distances, None)).unwrap();
        assert_eq!(document["format"], "numalab.firmware/1");
        assert_eq!(document["measured"][1][0], 47);
        assert!(document["replacement"].is_null());
    }
}
