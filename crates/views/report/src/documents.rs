//! Documents that are a format and the fields of one value. Those that are put together from
//! several values have files of their own.

use model::{
    BalanceReport, BindReport, Diagnosis, DoseReport, FirstTouch, FleetComparison, GroupState,
    MoveReport, Prediction, Residency, Threads, Topology,
};
use serde::Serialize;

use crate::records::comparison::RecordComparison;

/// A document: its format, then its fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Document<T> {
    /// Name and version of the format.
    pub format: &'static str,
    /// The fields.
    #[serde(flatten)]
    pub fields: T,
}

/// The fields of a document.
pub trait Fields: Sized {
    /// Name and version of its format.
    const FORMAT: &'static str;

    /// Returns the document.
    fn document(&self) -> Document<&Self> {
        Document {
            format: Self::FORMAT,
            fields: self,
        }
    }
}

/// The fields of a document of groups.
#[derive(Debug, Serialize)]
pub struct Groups<'a> {
    /// The groups.
    pub groups: &'a [GroupState],
}

/// The fields of a diagnosis.
#[derive(Debug, Serialize)]
pub struct DoctorAnswer<'a> {
    /// What was inspected besides the machine.
    pub target: Option<&'a str>,
    /// The findings, and the plan.
    #[serde(flatten)]
    pub diagnosis: &'a Diagnosis,
    /// The threads of the target by role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<&'a Threads>,
}

macro_rules! formats {
    ($($fields:ty: $format:literal,)+) => {
        $(impl Fields for $fields {
            const FORMAT: &'static str = $format;
        })+
    };
}

formats! {
    BalanceReport: "numalab.balance/1",
    BindReport: "numalab.bind/1",
    DoctorAnswer<'_>: "numalab.doctor/1",
    DoseReport: "numalab.dose/1",
    FirstTouch: "numalab.firsttouch/1",
    FleetComparison: "numalab.fleet-comparison/1",
    Groups<'_>: "numalab.groups/1",
    MoveReport: "numalab.move/1",
    Prediction: "numalab.predict/1",
    RecordComparison: "numalab.record-comparison/1",
    Residency: "numalab.residency/1",
    Topology: "numalab.topology/1",
}
