//! A JSON document of numalab as one page.

use model::{BalanceReport, FirstTouch, LatencyResult, MoveReport, Residency, Topology};
use report::{BANDWIDTH_FORMAT, DoctorAnswer, Fields, LATENCY_FORMAT};

use super::balance::{balance_content, read_balance};
use super::bandwidth::{bandwidth_content, read_bandwidth};
use super::doctor::{doctor_content, read_doctor};
use super::error::Error;
use super::first_touch::{first_touch_content, read_first_touch};
use super::frame::{Content, framed, framed_parts};
use super::guard::checked_format;
use super::latency::{latency_content, read_latency};
use super::moving::{move_content, read_move};
use super::residency::{read_residency, residency_content};
use super::top::Taken;
use super::topology::{read_topology, topology_content};

/// Reads a document and returns its page, given the latencies of the machine if
/// another document has them.
type Reader = fn(&str, Option<&LatencyResult>) -> Result<Content, Error>;

/// A format that has a page.
struct Paged {
    format: &'static str,
    title: &'static str,
    reader: Reader,
}

/// Every format that has a page.
static TABLE: [Paged; 8] = [
    Paged {
        format: LATENCY_FORMAT,
        title: "Memory latency",
        reader: |text, _| read_latency(text).map(|result| latency_content(&result)),
    },
    Paged {
        format: BANDWIDTH_FORMAT,
        title: "Memory bandwidth",
        reader: |text, _| read_bandwidth(text).map(|result| bandwidth_content(&result)),
    },
    Paged {
        format: Topology::FORMAT,
        title: "Topology",
        reader: |text, latencies| {
            let topology = read_topology(text)?;
            Ok(topology_content(&topology, latencies))
        },
    },
    Paged {
        format: Residency::FORMAT,
        title: "Where memory lies",
        reader: |text, latencies| {
            let residency = read_residency(text)?;
            Ok(residency_content(&residency, latencies))
        },
    },
    Paged {
        format: MoveReport::FORMAT,
        title: "Moved memory",
        reader: |text, _| read_move(text).map(|report| move_content(&report)),
    },
    Paged {
        format: BalanceReport::FORMAT,
        title: "Balanced memory",
        reader: |text, _| read_balance(text).map(|report| balance_content(&report)),
    },
    Paged {
        format: FirstTouch::FORMAT,
        title: "First touches",
        reader: |text, _| read_first_touch(text).map(|touch| first_touch_content(&touch)),
    },
    Paged {
        format: DoctorAnswer::FORMAT,
        title: "Diagnosis",
        reader: |text, _| read_doctor(text).map(|diagnosis| doctor_content(&diagnosis)),
    },
];

/// Returns the page of a document that a command of numalab wrote with `--json`: one HTML file that
/// needs no other and no script.
///
/// # Errors
/// When it is no document that has a page, or its figures cannot be those of a machine.
pub fn document_page(text: &str) -> Result<String, Error> {
    let (paged, content) = content(text, None)?;
    Ok(framed(paged.title, paged.format, &content))
}

/// Returns the page of several documents, one after the other, such as the topology of a machine
/// and the latencies that were measured on it.
///
/// # Errors
/// As [`document_page`], with the index of the document.
pub fn documents_page(texts: &[String]) -> Result<String, (usize, Error)> {
    if let [text] = texts {
        return document_page(text).map_err(|error| (0, error));
    }
    let is_latency = |text: &&String| checked_format(text, &[LATENCY_FORMAT]).is_ok();
    // A document that is refused is refused below, by its place.
    let latencies = texts.iter().find(is_latency);
    let latencies = latencies.and_then(|text| read_latency(text).ok());
    let mut parts = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        let part = content(text, latencies.as_ref());
        parts.push(part.map_err(|error| (index, error))?);
    }
    let formats: Vec<&str> = parts.iter().map(|(paged, _)| paged.format).collect();
    let parts = parts
        .iter()
        .map(|(paged, content)| (paged.title.to_owned(), content));
    Ok(framed_parts(
        "Report",
        &formats.join(", "),
        &parts.collect::<Vec<_>>(),
    ))
}

fn content(
    text: &str,
    latencies: Option<&LatencyResult>,
) -> Result<(&'static Paged, Content), Error> {
    let formats = TABLE.each_ref().map(|paged| paged.format);
    let format = checked_format(text, &formats)?;
    let paged = TABLE.iter().find(|paged| paged.format == format);
    let paged = paged.expect("the format was compared with this table");
    let content = (paged.reader)(text, latencies)?;
    let top = content.top.taken(Taken::of(text).as_ref());
    Ok((paged, Content { top, ..content }))
}
