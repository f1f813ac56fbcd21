//! Documents that are a format and the fields of one value. Those that are put together from
//! several values have files of their own.

use model::{BindReport, Diagnosis, GroupState, Residency, Threads, Topology};
use serde::Serialize;

use crate::memory::memory_plan::MemoryPlan;

/// The name of the format of [`latency_plan_document`].
const LATENCY_PLAN_FORMAT: &str = "numalab.latency-plan/1";
/// The name of the format of [`bandwidth_plan_document`].
const BANDWIDTH_PLAN_FORMAT: &str = "numalab.bandwidth-plan/1";
/// The name of the format of [`bind_document`].
const BIND_FORMAT: &str = "numalab.bind/1";
/// The name of the format of [`doctor_document`].
const DOCTOR_FORMAT: &str = "numalab.doctor/1";
/// The name of the format of [`groups_document`].
const GROUPS_FORMAT: &str = "numalab.groups/1";
/// The name of the format of [`residency_document`].
const RESIDENCY_FORMAT: &str = "numalab.residency/1";
/// The name of the format of [`topology_document`].
const TOPOLOGY_FORMAT: &str = "numalab.topology/1";

/// A document: its format, then its fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Document<T> {
    /// Name and version of the format.
    pub format: &'static str,
    /// The fields.
    #[serde(flatten)]
    pub fields: T,
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

/// Returns the document of a report of `numalab bind`.
pub fn bind_document(report: &BindReport) -> Document<&BindReport> {
    Document {
        format: BIND_FORMAT,
        fields: report,
    }
}

/// Returns the document of what `numalab latency` would measure.
pub fn latency_plan_document(plan: &MemoryPlan) -> Document<&MemoryPlan> {
    Document {
        format: LATENCY_PLAN_FORMAT,
        fields: plan,
    }
}

/// Returns the document of what `numalab bandwidth` would measure.
pub fn bandwidth_plan_document(plan: &MemoryPlan) -> Document<&MemoryPlan> {
    Document {
        format: BANDWIDTH_PLAN_FORMAT,
        fields: plan,
    }
}

/// Returns the document of a diagnosis.
pub fn doctor_document<'a>(
    target: Option<&'a str>,
    diagnosis: &'a Diagnosis,
    threads: Option<&'a Threads>,
) -> Document<DoctorAnswer<'a>> {
    Document {
        format: DOCTOR_FORMAT,
        fields: DoctorAnswer {
            target,
            diagnosis,
            threads,
        },
    }
}

/// Returns the document of these groups.
pub fn groups_document(groups: &[GroupState]) -> Document<Groups<'_>> {
    Document {
        format: GROUPS_FORMAT,
        fields: Groups { groups },
    }
}

/// Returns the document of a residency.
pub fn residency_document(residency: &Residency) -> Document<&Residency> {
    Document {
        format: RESIDENCY_FORMAT,
        fields: residency,
    }
}

/// Returns the document of a machine.
pub fn topology_document(topology: &Topology) -> Document<&Topology> {
    Document {
        format: TOPOLOGY_FORMAT,
        fields: topology,
    }
}
