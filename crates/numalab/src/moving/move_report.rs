//! The report of a move, built from its plan, its outcome, and an inspection afterwards.

use linux::Root;
use model::{BytesByNode, MoveReport, MoveStatus, MovedPart, Refused, Topology};
use placement::Destination;
use relocation::{Moved, PartKind, Plan, PlannedPart};
use residency::instances::{Member, Target};
use residency::{self, InspectError, Options};

use crate::failure::Failure;

/// A report under construction.
pub(crate) struct Building {
    /// The report so far.
    pub report: MoveReport,
}

/// Starts a report from the plan of a move. `target` is as the user named it.
pub(crate) fn of_plan(target: &str, to: &Destination, plan: &Plan) -> Result<Building, Failure> {
    let mut report = MoveReport {
        target: target.to_owned(),
        to: to.to_string(),
        status: MoveStatus::Planned,
        bytes_to_move: plan.bytes_to_move(),
        notes: plan.notes.clone(),
        ..MoveReport::default()
    };
    for planned in &plan.parts {
        let is_of = |part: &&mut MovedPart| is_of(part, planned);
        let found = report.parts.iter_mut().find(is_of);
        match found {
            Some(part) => add(part, planned),
            None => report.parts.push(first_of(planned)?),
        }
    }
    let is_huge = |it: &&PlannedPart| it.part.is_of_huge_pool() && it.part.object().is_some();
    for planned in plan.parts.iter().filter(is_huge) {
        report.notes.push(format!(
            "{}: new huge pages follow the policy of the process that touches them first, which \
             cannot be changed from outside",
            planned.part.name
        ));
    }
    Ok(Building { report })
}

/// Whether a planned part belongs to this part of the report: private memory is shown by class,
/// segments of one name together.
fn is_of(part: &MovedPart, planned: &PlannedPart) -> bool {
    let is_shared = planned.part.object().is_some();
    part.name == planned.part.name && part.shared == is_shared
}

fn first_of(planned: &PlannedPart) -> Result<MovedPart, Failure> {
    let (kind, processes) = match planned.part.kind {
        PartKind::Segment(kind) => (kind.word().to_owned(), None),
        PartKind::Private { .. } => ("private".to_owned(), Some(0)),
    };
    let policies = relocation::policy_of(&planned.part).map_err(relocation::MoveError::from)?;
    let (policy_before, policy_then) = policies.unzip();
    let mut part = MovedPart {
        name: planned.part.name.clone(),
        kind,
        shared: processes.is_none(),
        processes,
        page_bytes: planned.part.page_bytes,
        policy_before,
        policy_then,
        ..MovedPart::default()
    };
    add(&mut part, planned);
    Ok(part)
}

fn sum(sum: &mut BytesByNode, bytes: &BytesByNode) {
    for (node, bytes) in bytes {
        *sum.entry(*node).or_default() += bytes;
    }
}

fn add(part: &mut MovedPart, planned: &PlannedPart) {
    sum(&mut part.bytes_by_node_before, &planned.now);
    sum(&mut part.bytes_by_node_planned, &planned.then);
    part.bytes_to_move += planned.bytes_to_move;
    part.processes = part.processes.map(|count| count + 1);
}

impl Building {
    /// Adds what was done.
    pub(crate) fn add_outcome(&mut self, plan: &Plan, moved: &Moved) {
        let report = &mut self.report;
        report.status = match moved.is_interrupted {
            true => MoveStatus::Interrupted,
            false => MoveStatus::Complete,
        };
        report.bytes_moved = Some(moved.sent.bytes);
        report.pages_moved = Some(moved.sent.units);
        report.system_calls = Some(moved.sent.calls);
        report.seconds = Some(moved.seconds);
        let refused = moved.sent.refused.iter().map(|(number, bytes)| Refused {
            reason: relocation::reason(*number),
            bytes: *bytes,
        });
        report.refused = refused.collect();
        let ended = moved
            .ended
            .iter()
            .map(|pid| format!("process {pid} ended meanwhile"));
        report.notes.extend(ended);
        if report.status != MoveStatus::Complete || !moved.ended.is_empty() {
            return;
        }
        for (planned, by_status) in plan.parts.iter().zip(&moved.by_status) {
            let part = report.parts.iter_mut().find(|part| is_of(part, planned));
            let Some(part) = part else { continue };
            let of_part = part.bytes_by_node_by_status.get_or_insert_default();
            sum(of_part, by_status);
        }
    }

    /// Adds where the memory of these processes is now, inspected as `numalab inspect` does with
    /// these options.
    ///
    /// # Errors
    /// When it cannot be inspected.
    pub(crate) fn verify(
        &mut self,
        root: &Root,
        (target, members): (&Target, Vec<Member>),
        topology: &Topology,
        options: &Options,
    ) -> Result<(), InspectError> {
        let residency = residency::inspect_members(root, target, members, topology, options)?;
        for part in &mut self.report.parts {
            let mut after = BytesByNode::new();
            let plain = |name: &str| name.strip_suffix(" (deleted)").unwrap_or(name) == part.name;
            let segments = residency.segments.iter();
            let segments: Vec<_> = segments
                .filter(|it| part.shared && plain(&it.name))
                .collect();
            let private = residency.private.iter();
            let private = private.filter(|it| !part.shared && it.class == part.name);
            let found = segments.iter().map(|it| &it.bytes_by_node);
            let found = found.chain(private.map(|it| &it.bytes_by_node));
            found.for_each(|bytes| sum(&mut after, bytes));
            let samples = segments.iter().filter_map(|it| it.sampled.as_ref());
            part.pages_sampled = samples
                .clone()
                .map(|it| it.pages)
                .reduce(u64::saturating_add);
            // Segments of one name are shown together: the margin is at most that of the worst.
            let margins = samples.filter_map(|it| it.share_margin);
            part.share_margin = margins.reduce(f64::max);
            part.bytes_by_node_after = Some(after);
        }
        Ok(())
    }
}
