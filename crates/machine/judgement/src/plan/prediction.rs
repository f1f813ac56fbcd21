//! What placements would mean for a target, from the model of the doctor's plan alone
//! (docs/predict.md).

use model::{CpuSet, MemoryFigures, NodeMatrix, PredictedPlacement, Prediction, node_words};
use placement::Destination;

use super::on_cpus::on_cpus;
use super::patient::{Layout, Patient};
use super::{candidates, cpus_to_memory};
use crate::doctor::DoctorInput;

/// A placement to predict.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// Its name, in the words of the user.
    pub name: String,
    /// The CPUs of all threads; `None` leaves them as they are.
    pub cpus: Option<CpuSet>,
    /// Where memory goes; `None` leaves it where it is.
    pub memory: Option<Destination>,
    /// Whether private memory stays where it is.
    pub is_shared_only: bool,
}

/// Predicts these placements, or without any those that the doctor's plan chooses from.
///
/// # Errors
/// A sentence, when nothing is known of where the target runs or of where its memory lies, or a
/// placement is impossible for it.
pub fn predict(input: &DoctorInput, wishes: &[Wish]) -> Result<Prediction, String> {
    let inputs: Vec<DoctorInput> = wishes.iter().map(|wish| of_cpus(input, wish)).collect();
    let all = || [input].into_iter().chain(&inputs);
    // Distances of two kinds cannot be compared: those of the firmware, if any latency is missing.
    let is_measured = all().all(|it| Patient::of(it).is_some_and(|it| it.is_measured()));
    let mut inputs: Vec<DoctorInput> = all().cloned().collect();
    if !is_measured {
        inputs
            .iter_mut()
            .for_each(|it| it.latencies = NodeMatrix::default());
    }
    let unknown = || "on which nodes its processes run is unknown".to_owned();
    let (input, inputs) = inputs.split_first().ok_or_else(unknown)?;
    let patient = Patient::of(input).ok_or_else(unknown)?;
    let now = patient.layout();
    if now
        .shared
        .iter()
        .chain(&now.private)
        .all(|it| it.is_empty())
    {
        return Err("no memory of it is known, so no placement of it means anything".to_owned());
    }
    let before = patient.figures(&now);
    let used = input.cpus_used;
    let cpus_of = |wish: &Wish| {
        let cpus = wish.cpus.clone()?;
        Some(cpus_to_memory::of_now(&patient, cpus, used))
    };
    let mut placements = Vec::new();
    for (input, wish) in inputs.iter().zip(wishes) {
        let patient = Patient::of(input).ok_or_else(|| refused(wish, &unknown()))?;
        let found = of_wish(&patient, &now, wish).map_err(|why| refused(wish, &why))?;
        placements.push(PredictedPlacement {
            placement: wish.name.clone(),
            is_shared_only: wish.is_shared_only,
            cpus: cpus_of(wish),
            ..predicted(input, &patient, &before, found)
        });
    }
    if wishes.is_empty() {
        for found in candidates::all(input, &patient) {
            placements.push(PredictedPlacement {
                placement: found.cure.to_string(),
                is_shared_only: found.cure.memory.is_some() && !found.moves_private,
                cpus: found.cpus,
                bytes_to_move: found.bytes_to_move,
                cpu_time_change_at_most: before.cpu_time_change(&found.figures),
                after: found.figures,
                needs: candidates::needs(input, &patient, &now, &found.layout),
            });
        }
    }
    Ok(Prediction {
        distances_by: is_measured.then(|| input.latencies_by.clone()),
        now: before,
        placements,
        ..Prediction::default()
    })
}

fn refused(wish: &Wish, why: &str) -> String {
    format!("{} is impossible: {why}", wish.name)
}

/// The target, with the CPUs of a placement.
fn of_cpus(input: &DoctorInput, wish: &Wish) -> DoctorInput {
    let cpus = wish.cpus.as_ref();
    cpus.map_or_else(|| input.clone(), |cpus| on_cpus(input, cpus))
}

/// Where memory lies under a placement, of which the patient has the CPUs already, and the bytes
/// that leave their node for it.
fn of_wish(patient: &Patient<'_>, now: &Layout, wish: &Wish) -> Result<(Layout, u64), String> {
    let Some(memory) = &wish.memory else {
        return Ok((now.clone(), 0));
    };
    memory.pattern(patient.topology, &patient.nodes_used())?;
    let users = patient.users.iter().filter(|_| !wish.is_shared_only);
    for user in users {
        let near = user.runs_on.keys().copied().collect();
        let nodes = memory.pattern(patient.topology, &near)?.nodes();
        let (pid, allowed) = (user.process.pid, &user.process.memory_nodes_allowed);
        let forbidden = nodes.difference(allowed);
        if !(allowed.is_empty() || forbidden.is_empty()) {
            let (forbidden, allowed) = (node_words(&forbidden), node_words(allowed));
            return Err(format!(
                "process {pid} may have memory on {allowed} alone, not on {forbidden}"
            ));
        }
    }
    let found = candidates::candidate(patient, now, memory.clone(), !wish.is_shared_only);
    Ok((found.layout, found.bytes_to_move))
}

/// What that means.
fn predicted(
    input: &DoctorInput,
    patient: &Patient<'_>,
    before: &MemoryFigures,
    (layout, bytes_to_move): (Layout, u64),
) -> PredictedPlacement {
    let after = patient.figures(&layout);
    let needs = candidates::needs(input, patient, &patient.layout(), &layout);
    PredictedPlacement {
        bytes_to_move,
        cpu_time_change_at_most: before.cpu_time_change(&after),
        after,
        needs,
        ..PredictedPlacement::default()
    }
}
