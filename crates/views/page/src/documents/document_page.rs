//! A JSON document of numalab as one page.

use maud::Markup;

use super::bandwidth::{BANDWIDTH_FORMAT, bandwidth_content, read_bandwidth};
use super::doctor::{DOCTOR_FORMAT, doctor_content, read_doctor};
use super::error::Error;
use super::frame::framed;
use super::guard::checked_format;
use super::latency::{LATENCY_FORMAT, latency_content, read_latency};
use super::moving::{MOVE_FORMAT, move_content, read_move};
use super::residency::{RESIDENCY_FORMAT, read_residency, residency_content};
use super::topology::{TOPOLOGY_FORMAT, read_topology, topology_content};

/// Reads a document and returns the content of its page.
type Reader = fn(&str) -> Result<Markup, Error>;

/// A format that has a page.
struct Paged {
    format: &'static str,
    title: &'static str,
    reader: Reader,
}

/// Every format that has a page.
const TABLE: [Paged; 6] = [
    Paged {
        format: LATENCY_FORMAT,
        title: "Memory latency",
        reader: |text| read_latency(text).map(|result| latency_content(&result)),
    },
    Paged {
        format: BANDWIDTH_FORMAT,
        title: "Memory bandwidth",
        reader: |text| read_bandwidth(text).map(|result| bandwidth_content(&result)),
    },
    Paged {
        format: TOPOLOGY_FORMAT,
        title: "Topology",
        reader: |text| read_topology(text).map(|topology| topology_content(&topology)),
    },
    Paged {
        format: RESIDENCY_FORMAT,
        title: "Where memory lies",
        reader: |text| read_residency(text).map(|residency| residency_content(&residency)),
    },
    Paged {
        format: MOVE_FORMAT,
        title: "Moved memory",
        reader: |text| read_move(text).map(|report| move_content(&report)),
    },
    Paged {
        format: DOCTOR_FORMAT,
        title: "Diagnosis",
        reader: |text| read_doctor(text).map(|diagnosis| doctor_content(&diagnosis)),
    },
];

/// Returns the page of a document that a command of numalab wrote with `--json`: one HTML file that
/// needs no other and no script.
///
/// # Errors
/// When it is no document that has a page, or its figures cannot be those of a machine.
pub fn document_page(text: &str) -> Result<String, Error> {
    let formats = TABLE.map(|paged| paged.format);
    let format = checked_format(text, &formats)?;
    let paged = TABLE.iter().find(|paged| paged.format == format);
    let paged = paged.expect("the format was compared with this table");
    let content = (paged.reader)(text)?;
    Ok(framed(paged.title, paged.format, &content))
}
