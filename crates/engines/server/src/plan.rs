//! The plan of a server, its load and a trial, and the callbacks of a trial.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use model::exit::ExitCode;
use model::{Allocation, CpuSet, LoadPlan, Phase, Placement, ServerKind, SgaPlan};

use crate::Error;

/// One server.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerPlan {
    /// How its processes are placed.
    pub placed: Placed,
    /// Whether its shared memory comes from the pool of huge pages.
    pub huge_pages: bool,
    /// Settings of the experiment, by name; a database refuses those that numalab itself needs
    /// ([`settings_beside`]).
    pub settings: BTreeMap<String, String>,
    /// The tables and the sessions that read them.
    pub tables: TablesPlan,
}

/// Returns the settings of an experiment, once none of them is one of `own`, which numalab needs.
/// In names, `_` is `-`.
///
/// # Errors
/// With the setting.
pub fn settings_beside(
    plan: &ServerPlan,
    own: impl Iterator<Item = impl AsRef<str>>,
) -> Result<impl Iterator<Item = (&str, &str)>, Error> {
    let plain = |name: &str| name.replace('_', "-").to_lowercase();
    let own: BTreeSet<String> = own.map(|name| plain(name.as_ref())).collect();
    let refused = plan.settings.keys().find(|name| own.contains(&plain(name)));
    match refused {
        Some(name) => Err(Error::new(
            ExitCode::Usage,
            format!("server-settings: numalab itself sets {name}"),
        )
        .advise("leave it out: the keys of the experiment decide it")),
        None => {
            let settings = plan.settings.iter();
            Ok(settings.map(|(name, value)| (name.as_str(), value.as_str())))
        }
    }
}

/// How processes are placed.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// CPUs and memory nodes.
    pub placement: Placement,
    /// The cgroups created for it: a processor group, a quota.
    pub groups: Vec<PathBuf>,
    /// The memory policy of all its processes.
    pub allocation: Allocation,
    /// The CPUs of the session that loads and prewarms; `None`: those of the placement.
    pub prewarm_cpus: Option<CpuSet>,
}

/// The tables and the sessions that read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TablesPlan {
    /// Sessions, each with a separate table.
    pub sessions: u32,
    /// Bytes of the cache that all tables take together.
    pub cache_bytes: u64,
    /// Bytes of the cache that one row takes.
    pub row_bytes: u64,
}

/// The parameters of a trial, apart from its server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrialOrder {
    /// Seed of the physical order of rows and of the keys that are read.
    pub seed: u64,
    /// Rows per statement.
    pub work_unit: u32,
    /// Length of the window.
    pub window_s: f64,
    /// Shortest warm-up.
    pub warm_up_s_min: f64,
    /// Longest warm-up.
    pub warm_up_s_max: f64,
}

/// The parameters of a sweep of work units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CalibrationOrder {
    /// Seed of the rows and keys.
    pub seed: u64,
    /// Relative gain of a doubling below which the plateau is reached.
    pub gain_min: f64,
    /// Largest work unit to try.
    pub work_unit_max: u32,
}

/// Callbacks of a trial.
pub struct Watch<'a> {
    /// Receives the current phase, with the live logical reads per second if there are any.
    pub live: &'a mut dyn FnMut(Phase, Option<f64>),
    /// Returns whether the trial is to stop.
    pub cancelled: &'a dyn Fn() -> bool,
}

impl TablesPlan {
    /// Returns the tables that a case requests of a database.
    pub fn of(kind: ServerKind, sga: &SgaPlan, load: &LoadPlan) -> Self {
        TablesPlan {
            sessions: load.sessions,
            cache_bytes: sga.cache_bytes,
            row_bytes: kind.row_bytes(),
        }
    }

    /// Returns the rows of one table.
    pub fn rows_per_table(&self) -> u32 {
        let rows = self.cache_bytes / self.row_bytes / u64::from(self.sessions.max(1));
        u32::try_from(rows).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_numalab_needs_are_refused() {
        let plan = |name: &str| ServerPlan {
            placed: Placed {
                placement: Placement::inherited(),
                groups: Vec::new(),
                allocation: Allocation::OsDefault,
                prewarm_cpus: None,
            },
            huge_pages: false,
            settings: [(name.to_owned(), "1".to_owned())].into(),
            tables: TablesPlan {
                sessions: 1,
                cache_bytes: 1,
                row_bytes: 1,
            },
        };
        let own = ["large-pages", "port"];
        let others = plan("io-threads");
        let mut others = settings_beside(&others, own.iter()).unwrap();
        assert_eq!(others.next(), Some(("io-threads", "1")));
        let refused = plan("Large_Pages");
        let refused = settings_beside(&refused, own.iter()).err().unwrap();
        assert!(
            refused
                .to_string()
                .contains("numalab itself sets Large_Pages")
        );
    }
}
