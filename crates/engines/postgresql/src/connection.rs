//! A server with loaded tables, ready for sessions.

use linux::Root;
use model::ServerKind;
use pglogin::Login;
use postgres::Client;
use residency::instances::{self, Target};
use server::{CacheMemory, Counters, Error, Loaded, Opener, ServerPlan};

use crate::buffers::{Allocation, BufferBlocks};
use crate::kind::KIND;
use crate::prewarm::prewarm;
use crate::session::SessionOrder;
use crate::statement::hits_per_statement;
use crate::tables::{self, SCHEMA, Table};
use crate::version::version_of;

use crate::error;
use crate::{Version, counters};

/// A connection to a server with loaded and cached tables.
pub(crate) struct LoadedTables {
    /// The connection that loaded them, bound to the prewarming CPUs.
    client: Client,
    /// The PID of its backend.
    pid: u32,
    version: Version,
    tables: Vec<Table>,
    /// How sessions connect.
    login: Login,
    /// The postmaster, if it is a process of this machine.
    postmaster: Option<u32>,
    /// Whether it is a throw-away server.
    is_ours: bool,
}

impl LoadedTables {
    /// Loads the tables of a throw-away server.
    ///
    /// # Errors
    /// When a statement or the binding fails.
    pub(crate) fn ours(
        mut client: Client,
        login: Login,
        postmaster: u32,
        plan: &ServerPlan,
        seed: u64,
    ) -> Result<Self, Error> {
        let version = version_of(&mut client)?;
        let pid = backend(&mut client)?;
        if let Some(cpus) = &plan.placed.prewarm_cpus {
            linux::affinity::bind_process(pid, cpus)?;
        }
        let schema = format!("CREATE SCHEMA {SCHEMA}; SET maintenance_work_mem = '256MB'");
        // A cluster serves several servers in turn: drop what the last one left.
        let schema = format!("DROP SCHEMA IF EXISTS {SCHEMA} CASCADE; {schema}");
        client
            .batch_execute(&schema)
            .map_err(error::client("making the schema"))?;
        let tables = tables::make(&mut client, SCHEMA, plan.tables, seed)?;
        client
            .batch_execute("CHECKPOINT")
            .map_err(error::client("writing a checkpoint"))?;
        prewarm(&mut client, &tables)?;
        Ok(LoadedTables {
            client,
            pid,
            version,
            tables,
            login,
            postmaster: Some(postmaster),
            is_ours: true,
        })
    }

    /// Wraps the tables of a server that is already running.
    ///
    /// # Errors
    /// When a statement fails.
    pub(crate) fn theirs(
        mut client: Client,
        version: Version,
        tables: Vec<Table>,
        login: Login,
        postmaster: Option<u32>,
    ) -> Result<Self, Error> {
        Ok(LoadedTables {
            pid: backend(&mut client)?,
            client,
            version,
            tables,
            login,
            postmaster,
            is_ours: false,
        })
    }

    /// Returns the processes of the server, first the backend that loaded the tables, which has
    /// touched the most.
    fn members(&self, root: &Root, postmaster: u32) -> Vec<u32> {
        let members = instances::find(root, &Target::Process(postmaster));
        let others = members
            .unwrap_or_default()
            .into_iter()
            .map(|it| it.stat.pid);
        std::iter::once(self.pid)
            .chain(others.filter(|pid| *pid != self.pid))
            .collect()
    }
}

impl Loaded for LoadedTables {
    fn kind(&self) -> ServerKind {
        KIND
    }

    fn is_ours(&self) -> bool {
        self.is_ours
    }

    fn rows(&self) -> u64 {
        self.tables.iter().map(Table::rows).min().unwrap_or(0)
    }

    fn openers(&self, seed: u64) -> Vec<Opener> {
        let orders = (0..)
            .zip(&self.tables)
            .map(|(session, table)| SessionOrder {
                login: self.login.clone(),
                version: self.version.clone(),
                table: table.clone(),
                seed: unit(seed.wrapping_add(session)),
                is_local: self.postmaster.is_some(),
            });
        orders.map(SessionOrder::opener).collect()
    }

    fn reads_per_statement(&mut self, work_unit: u32, seed: u64) -> Result<f64, Error> {
        let hits = hits_per_statement(&mut self.client, &self.tables[0], work_unit, seed)?;
        Ok(hits)
    }

    fn counters(&mut self) -> Result<Counters, Error> {
        let read = counters::read(&mut self.client, &self.version, &self.tables)?;
        Ok(read)
    }

    fn session_counter(&self) -> &'static str {
        counters::SESSION_COUNTER
    }

    fn cache(&mut self, root: &Root) -> Result<CacheMemory, Error> {
        let postmaster = self.postmaster.ok_or_else(|| {
            Error::answer(
                "the shared buffers",
                "a server on this machine",
                "one elsewhere",
            )
        })?;
        let allocation = Allocation::ask(&mut self.client)?;
        let blocks = BufferBlocks::find(root, &allocation, postmaster)?;
        Ok(blocks.memory(self.members(root, postmaster), self.pid))
    }

    fn processes(&self, root: &Root) -> Vec<u32> {
        let members = self.postmaster.map(|it| self.members(root, it));
        members.unwrap_or_default()
    }
}

fn backend(client: &mut Client) -> Result<u32, Error> {
    let row = client.query_one("SELECT pg_backend_pid()", &[]);
    let pid: i32 = row.map_err(error::client("asking for the backend"))?.get(0);
    Ok(pid.unsigned_abs())
}

/// Converts a seed to the range of setseed(): from -1 to 1.
fn unit(seed: u64) -> f64 {
    let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11;
    mixed as f64 / (1_u64 << 53) as f64 * 2.0 - 1.0
}

#[cfg(test)]
mod tests {
    use super::unit;

    #[test]
    fn seeds_are_spread_over_their_range() {
        for seed in [0, 1, 2, u64::MAX] {
            assert!((-1.0..=1.0).contains(&unit(seed)), "{seed}");
        }
        assert!((unit(1) - unit(2)).abs() > 0.01);
    }
}
