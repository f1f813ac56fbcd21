//! Where a program is put before it starts: a processor group, or a cgroup that limits its CPU
//! time.

use journal::Journal;
use linux::{Root, systemd};
use placement::groups::{self, Group, Joined, Limit};

use crate::arguments::placement::BindArguments;
use crate::changes::KINDS;
use crate::failure::Failure;
use crate::files::state_folder::StateFolder;
use crate::moving::scope;

/// The group or the limit that a program starts in.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// The group, as found before the start.
    pub group: Option<Group>,
    /// The limit to create, in CPUs.
    limit_asked: Option<f64>,
    limit: Option<Limit>,
    joined: Vec<Joined>,
}

impl Scope {
    /// Finds the group. Where systemd must put this process into one, becomes that process.
    pub(super) fn find(root: &Root, arguments: &BindArguments) -> Result<Self, Failure> {
        let group = arguments.group.as_ref();
        let group = group.map(|name| Ok::<_, Failure>(groups::find(root, &journal()?, name)?));
        let found = Scope {
            group: group.transpose()?,
            limit_asked: arguments.cpu_limit.filter(|_| !arguments.in_scope),
            ..Scope::default()
        };
        let unit = found.group.as_ref().and_then(|group| group.unit.as_ref());
        match (unit, found.limit_asked) {
            (Some(unit), _) if !arguments.in_scope => {
                Err(scope::become_one("bind", &[format!("--slice={unit}")]))
            }
            (_, Some(limit)) if systemd::is_booted(root) => {
                let quota = format!("--property=CPUQuota={}%", limit * 100.0);
                Err(scope::become_one("bind", &[quota]))
            }
            _ => Ok(found),
        }
    }

    /// Creates the limit, and moves this process into it or into the group.
    pub(super) fn enter(&mut self, root: &Root, arguments: &BindArguments) -> Result<(), Failure> {
        if let Some(group) = self.group.as_ref().filter(|_| !arguments.in_scope) {
            self.joined.push(groups::join(root, &group.directories)?);
        }
        let Some(limit) = self.limit_asked else {
            return Ok(());
        };
        let limit = Limit::create(root, &journal()?, limit)?;
        let joined = groups::join(root, std::slice::from_ref(&limit.directory));
        self.limit = Some(limit);
        match joined {
            Ok(joined) => self.joined.push(joined),
            Err(error) => {
                self.end()?;
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Whether something must be removed after the program has ended.
    pub(super) fn is_temporary(&self) -> bool {
        self.limit_asked.is_some()
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
