//! This machine as `serve` and `metrics` show it: a snapshot, with what follows from those before
//! it.

use linux::Root;
use live::{Exhaustion, History, Notices, Resource, Sampler, Scope};
use model::Snapshot;
use serve::{Expected, Look};

use crate::databases::looks::{DatabaseLooks, are_sizes_known};
use crate::failure::Failure;

/// The sizes of all processes of databases are known after so many takes, of 20 processes each,
/// with 2,000 of them.
const TAKES_MAX: usize = 100;

/// What has been seen of this machine in the last minutes.
pub(crate) struct Observation {
    sampler: Sampler,
    /// `None` for a captured machine, whose processes cannot be looked at.
    databases: Option<DatabaseLooks>,
    /// The name of a captured machine, if its files have it.
    host: Option<String>,
    seen: Seen,
}

/// The snapshots of the last minutes, and what follows from them.
#[derive(Default)]
pub(crate) struct Seen {
    history: History,
    notices: Notices,
}

impl Seen {
    /// Adds a snapshot; returns it with what follows.
    pub(crate) fn add(&mut self, snapshot: Snapshot) -> Look {
        self.history.push(snapshot.clone());
        let forecast = self.history.forecast();
        let notices = self.notices.update(&self.history).into_iter();
        let mut notices: Vec<String> = notices.map(|notice| notice.sentence).collect();
        notices.extend(forecast.sentence());
        Look {
            host: linux::process::host_and_kernel().0,
            taken: in_utc(snapshot.taken_at_s),
            minute: live::Minute::of(&self.history),
            snapshot,
            change: self.history.change(),
            forecast: forecast.first.iter().map(expected).collect(),
            notices,
        }
    }
}

/// Formats a moment, given in seconds since 1970-01-01 UTC.
fn in_utc(seconds: f64) -> String {
    let since = jiff::SignedDuration::try_from_secs_f64(seconds);
    let moment = since
        .ok()
        .and_then(|it| jiff::Timestamp::from_duration(it).ok());
    moment.map_or_else(String::new, |it| {
        it.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
    })
}

impl Observation {
    /// Prepares to look at a machine and all its processes.
    pub(crate) fn of(root: &Root) -> Result<Self, Failure> {
        linux::process::raise_open_files();
        let is_live = root.is_live();
        let named = || root.read_optional("proc/sys/kernel/hostname").ok()?;
        let host = named().map(|name| name.text().trim().to_owned());
        Ok(Self {
            sampler: Sampler::new(root.clone(), Scope::Machine)?,
            databases: is_live.then(DatabaseLooks::in_background),
            host: (!is_live).then(|| host.unwrap_or_default()),
            seen: Seen::default(),
        })
    }

    /// Looks at the machine.
    pub(crate) fn look(&mut self) -> Result<Look, live::Error> {
        let mut snapshot = match self.seen.history.latest() {
            None => first(&mut self.sampler)?,
            Some(_) => self.sampler.take()?,
        };
        if let Some(databases) = &mut self.databases {
            databases.complete(&mut snapshot);
        }
        let mut look = self.seen.add(snapshot);
        if let Some(host) = &self.host {
            look.host.clone_from(host);
        }
        Ok(look)
    }
}

/// Takes one snapshot of this machine.
pub(crate) fn only_snapshot() -> Result<Snapshot, Failure> {
    let mut sampler = Sampler::new(Root::live(), Scope::Machine)?;
    let mut snapshot = first(&mut sampler)?;
    DatabaseLooks::awaited().complete(&mut snapshot);
    Ok(snapshot)
}

/// Takes the first snapshot. Each take reads the sizes of some processes; so it takes several,
/// until those of all databases are known.
fn first(sampler: &mut Sampler) -> Result<Snapshot, live::Error> {
    let mut snapshot = sampler.take()?;
    let mut takes = 1;
    while !are_sizes_known(&snapshot) && takes < TAKES_MAX {
        let cost_s = snapshot.cost_s;
        snapshot = sampler.take()?;
        snapshot.cost_s += cost_s;
        takes += 1;
    }
    Ok(snapshot)
}

fn expected(first: &Exhaustion) -> Expected {
    let resource = match first.resource {
        Resource::Memory => "memory".to_owned(),
        Resource::HugePages { page_bytes } => format!("huge-pages-{page_bytes}"),
    };
    Expected {
        node: first.node.0,
        resource,
        seconds: first.seconds,
        interval: (first.seconds_low, first.seconds_high),
    }
}
