//! What is wrong, and one plan for what is wrong with where memory lies.

use linux::Root;
use model::{CurePlan, Diagnosis, Finding, OtherCure, Severity, ShellLine};
use placement::TargetPlacement;

use super::candidate::Candidate;
use super::candidates::{Candidates, candidates};
use super::patient::Patient;
use super::{applied, cpus_to_memory, steps};
use crate::doctor::DoctorInput;
use crate::findings;
use crate::found::fact;

/// The finding that gives each of several servers a place of its own.
const PLACED_APART: &str = "instances-unplaced";

/// Looks at a machine and a target, plans, and looks at what the plan would lead to.
pub fn diagnose(input: &DoctorInput) -> Diagnosis {
    diagnose_for(input, None)
}

/// The same with a plan for the cure that was asked for; without a plan if it is none of this
/// target now.
pub fn diagnose_for(input: &DoctorInput, asked: Option<&TargetPlacement>) -> Diagnosis {
    let mut diagnosis = Diagnosis {
        findings: findings::of_doctor(input),
        coverage: findings::coverage_of_doctor(input),
        ..Diagnosis::default()
    };
    let has_several = diagnosis.findings.iter().any(|it| it.id == PLACED_APART);
    let why_not = match Patient::of(input) {
        _ if has_several => vec![format!("no plan for all servers alike: see {PLACED_APART}")],
        None => vec!["no plan: on which nodes the processes run is unknown".to_owned()],
        Some(patient) => with_plan(input, &patient, asked, &mut diagnosis),
    };
    // What latencies of a text show is about a machine alone.
    let has_target = input.residency.is_some();
    let findings = diagnosis.findings.iter_mut();
    for finding in findings.filter(|it| has_target && it.fix.is_empty()) {
        finding.fix = why_not.iter().map(ShellLine::remark).collect();
    }
    diagnosis
}

/// Adds the plan; returns why there is none, or none for a finding that it does not cure.
fn with_plan(
    input: &DoctorInput,
    patient: &Patient<'_>,
    asked: Option<&TargetPlacement>,
    diagnosis: &mut Diagnosis,
) -> Vec<String> {
    let found = candidates(input, patient, asked);
    let why_not = vec!["no place that it may use is better for this memory".to_owned()];
    let Some(best) = &found.best else {
        return why_not;
    };
    let then = findings::of_doctor(&applied::applied(input, patient, best));
    let has = |findings: &[Finding], id: &str| findings.iter().any(|it| it.id == id);
    let now = diagnosis.findings.clone();
    // Findings without a fix of their own are about where memory lies: the plan is their fix, also
    // where it only makes them better.
    let is_planned = |it: &Finding| it.fix.is_empty() || !has(&then, &it.id);
    let (cured, mut rest): (Vec<_>, Vec<_>) = now.into_iter().partition(is_planned);
    // For information alone, nobody moves memory.
    let is_worth = |it: &&Finding| it.severity > Severity::Info;
    if cured.first().filter(is_worth).is_none() {
        return why_not;
    }
    let Some(main) = main_finding(cured) else {
        return why_not;
    };
    let mut plan = plan(input, patient, best, &found);
    let new = then.iter().filter(|it| !has(&rest, &it.id));
    plan.leaves = new.map(|it| format!("{}: {}", it.id, it.message)).collect();
    rest.insert(0, main);
    rest.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    diagnosis.findings = rest;
    diagnosis.plan = Some(plan);
    why_not
}

/// Measures how fast this machine moves pages and how many CPUs the target uses, if a plan could
/// need that; it takes two seconds at most.
pub fn measure_rate(root: &Root, input: &mut DoctorInput) {
    let Some(patient) = Patient::of(input).filter(|_| root.is_live()) else {
        return;
    };
    if candidates(input, &patient, None).best.is_none() {
        return;
    }
    let is_about_cpus = cpus_to_memory::candidate(input, &patient).is_some();
    let shares = patient
        .layout()
        .shared
        .iter()
        .any(|bytes| !bytes.is_empty());
    let mappings = if shares { patient.users.len() } else { 1 };
    input.move_rate = relocation::own_rate(root, &input.topology, mappings);
    if is_about_cpus {
        input.watch_cpus(root);
    }
}

/// Of findings that the plan cures, the most severe one, with the others as its evidence.
fn main_finding(cured: Vec<Finding>) -> Option<Finding> {
    let mut cured = cured.into_iter();
    let mut main = cured.next()?;
    let symptom = |it: Finding| fact(it.id, it.message);
    main.evidence.extend(cured.map(symptom));
    main.fix = vec![ShellLine::of("# the plan, below")];
    Some(main)
}

fn plan(
    input: &DoctorInput,
    patient: &Patient<'_>,
    best: &Candidate,
    found: &Candidates,
) -> CurePlan {
    let other = |other: &Candidate| OtherCure {
        cure: other.cure.to_string(),
        cpus: other.cpus.clone(),
        after: other.figures,
    };
    let mut plan = CurePlan {
        cure: best.cure.to_string(),
        cpus: best.cpus.clone(),
        moves_private_memory: best.moves_private,
        bytes_to_move: best.bytes_to_move,
        distances_by: patient.is_measured().then(|| input.latencies_by.clone()),
        before: patient.figures(&patient.layout()),
        after: best.figures,
        runner_up: found.runner_up.as_ref().map(other),
        no_room: found.no_room.clone(),
        ..CurePlan::default()
    };
    steps::add_steps(&mut plan, input, patient, best);
    plan
}
