//! Where a program is put before it starts: a processor group, or a cgroup that limits its CPU
//! time.

use journal::Journal;
use linux::{Root, systemd};
use placement::groups::{self, Group, Joined, Limit};

use crate::changes::KINDS;
use crate::failure::Failure;
use crate::placement_arguments::BindArguments;
use crate::scope;
use crate::state_folder::StateFolder;

/// The group or the limit that a program starts in.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// The group, as found before the start.
    pub group: Option<Group>,
    limit: Option<Limit>,
    joined: Vec<Joined>,
}

impl Scope {
    /// Finds the group or creates the limit, and moves this process into it.
    pub(super) fn take(root: &Root, arguments: &BindArguments) -> Result<Self, Failure> {
        let mut taken = Scope::default();
        if let Some(name) = &arguments.group {
            let group = groups::find(root, &journal()?, name)?;
            match (&group.unit, arguments.in_scope) {
                (_, true) => {}
                (Some(unit), false) => {
                    return Err(scope::become_one("bind", &[format!("--slice={unit}")]));
                }
                (None, false) => taken.joined.push(groups::join(root, &group.directories)?),
            }
            taken.group = Some(group);
        }
        match arguments.cpu_limit.filter(|_| !arguments.in_scope) {
            None => {}
            Some(limit) if systemd::is_booted(root) => {
                let quota = format!("--property=CPUQuota={}%", limit * 100.0);
                return Err(scope::become_one("bind", &[quota]));
            }
            Some(limit) => {
                let limit = Limit::create(root, &journal()?, limit)?;
                let joined = groups::join(root, std::slice::from_ref(&limit.directory));
                taken.limit = Some(limit);
                match joined {
                    Ok(joined) => taken.joined.push(joined),
                    Err(error) => {
                        taken.end()?;
                        return Err(error.into());
                    }
                }
            }
        }
        Ok(taken)
    }

    /// Whether something must be removed after the program has ended.
    pub(super) fn is_temporary(&self) -> bool {
        self.limit.is_some()
    }

    /// Moves numalab itself back to its previous cgroup; the program stays.
    pub(super) fn leave(&self) {
        self.joined.iter().for_each(Joined::leave);
    }

    /// Removes what was created for this program only.
    pub(super) fn end(&self) -> Result<(), Failure> {
        let Some(limit) = &self.limit else {
            return Ok(());
        };
        self.leave();
        limit.remove()?;
        // Disables the controller that was enabled for it, unless another process uses it by now.
        let root = Root::live();
        journal::undo(
            &journal()?,
            KINDS,
            |entry| entry.made_by.is_this_process(&root),
            false,
        )?;
        Ok(())
    }
}

fn journal() -> Result<Journal, Failure> {
    Ok(StateFolder::from_environment()?.journal())
}
