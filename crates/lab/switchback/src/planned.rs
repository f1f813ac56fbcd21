//! What a switch to a placement would do now, under the locks of the memory if it is to be done.

use linux::Root;
use model::Topology;
use placement::{Destination, Dose, TargetQuota};
use relocation::{Choice, Plan};
use residency::instances::{self, Target};

use crate::{Error, Tried};

/// What a move to a destination would do now, under the locks of the memory if it is to be done.
pub(crate) struct Planned {
    /// The plan.
    pub(crate) plan: Plan,
    /// The locks; `None` if it is not to be done.
    pub(crate) claims: Option<relocation::Claims>,
}

impl Planned {
    /// Makes it; `dose`: for these pages alone.
    pub(crate) fn of(
        root: &Root,
        target: &Target,
        topology: &Topology,
        (to, dose): (&Destination, Option<Dose>),
        is_for_real: bool,
    ) -> Result<Self, Error> {
        let all = Choice {
            shared: true,
            private: true,
            segments: Vec::new(),
        };
        if let Some(lacking) = to.lacking(topology) {
            return Err(Error::Impossible {
                placement: to.to_string(),
                reason: lacking.to_owned(),
            });
        }
        let mut survey = relocation::survey(root, target, topology, to, &all)?;
        if let Some(dose) = dose {
            survey = survey.dosed(dose);
        }
        // Claim before reading where the memory is: from then on no other numalab moves it.
        let claims = match is_for_real {
            true => Some(relocation::claim(root, &survey)?),
            false => None,
        };
        let plan = relocation::plan(root, survey)?;
        relocation::check_room(root, &plan, topology)?;
        Ok(Planned { plan, claims })
    }
}

/// What a switch to a placement would do now.
#[derive(Debug, Default)]
pub struct Foreseen {
    /// The bytes that it moves.
    pub bytes: u64,
    /// What stays where it is, and why, one sentence each.
    pub notes: Vec<String>,
}

/// Foresees a switch to a placement.
///
/// # Errors
/// When the placement is impossible here, there is no room for it, or a permission is missing: a
/// part of the memory alone is not the placement.
pub fn foresee(
    root: &Root,
    target: &Target,
    topology: &Topology,
    tried: &Tried,
) -> Result<Foreseen, Error> {
    tried.cpus_on(topology)?;
    if tried.quota.is_some() {
        let members = instances::find(root, target)?;
        TargetQuota::of(root, &members.iter().map(|it| it.stat.pid).collect())?;
    }
    let Some(to) = &tried.memory else {
        return Ok(Foreseen::default());
    };
    // A survey of all memory goes on with private memory where it may not reach the shared.
    let shared = Choice {
        shared: true,
        private: false,
        segments: Vec::new(),
    };
    relocation::survey(root, target, topology, to, &shared)?;
    let planned = Planned::of(root, target, topology, (to, tried.dose), false)?;
    Ok(Foreseen {
        bytes: planned.plan.bytes_to_move(),
        notes: planned.plan.notes,
    })
}
