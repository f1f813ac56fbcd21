//! A server with loaded tables, ready for sessions.

use linux::Root;
use postgres::Client;
use residency::instances::{self, Target};

use crate::buffers::{Allocation, BufferBlocks};
use crate::counters::ServerCounters;
use crate::prewarm::prewarm;
use crate::server::Server;
use crate::session::SessionOrder;
use crate::tables::{self, SCHEMA, Table};
use crate::version::version_of;
use crate::{Error, ServerPlan, Version};

/// A connection to a server with loaded and cached tables.
pub(crate) struct Loaded {
    /// The connection that loaded them, bound to the prewarming CPUs.
    pub client: Client,
    /// The PID of its backend.
    pub pid: u32,
    pub version: Version,
    pub tables: Vec<Table>,
    /// How sessions connect.
    config: postgres::Config,
    /// The postmaster, if it is a process of this machine.
    postmaster: Option<u32>,
    /// Whether it is a throw-away server.
    pub is_ours: bool,
}

impl Loaded {
    /// Loads the tables of a throw-away server.
    ///
    /// # Errors
    /// When a statement or the binding fails.
    pub(crate) fn ours(server: &Server, plan: &ServerPlan, seed: u64) -> Result<Self, Error> {
        let mut client = server.connect()?;
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
            .map_err(Error::client("making the schema"))?;
        let tables = tables::make(&mut client, SCHEMA, plan.tables, seed)?;
        client
            .batch_execute("CHECKPOINT")
            .map_err(Error::client("writing a checkpoint"))?;
        prewarm(&mut client, &tables)?;
        Ok(Loaded {
            client,
            pid,
            version,
            tables,
            config: server.config(),
            postmaster: Some(server.pid()),
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
        config: postgres::Config,
        postmaster: Option<u32>,
    ) -> Result<Self, Error> {
        Ok(Loaded {
            pid: backend(&mut client)?,
            client,
            version,
            tables,
            config,
            postmaster,
            is_ours: false,
        })
    }

    /// Returns whether the server's processes are on this machine.
    pub(crate) fn is_on_this_machine(&self) -> bool {
        self.postmaster.is_some()
    }

    /// Returns the current counters of the server.
    ///
    /// # Errors
    /// When a statement fails.
    pub(crate) fn counters(&mut self) -> Result<ServerCounters, Error> {
        ServerCounters::read(&mut self.client, &self.version, &self.tables)
    }

    /// Returns the orders of its sessions; `seed` determines the keys they draw.
    pub(crate) fn session_orders(&self, seed: u64) -> Vec<SessionOrder> {
        (0..)
            .zip(&self.tables)
            .map(|(session, table)| SessionOrder {
                session,
                config: self.config.clone(),
                version: self.version.clone(),
                table: table.clone(),
                seed: unit(seed.wrapping_add(u64::from(session))),
                is_local: self.postmaster.is_some(),
            })
            .collect()
    }

    /// Returns the blocks of the shared buffers, and the processes that may have them mapped.
    ///
    /// # Errors
    /// When the server is not on this machine, or does not report where they are.
    pub(crate) fn buffers(&mut self, root: &Root) -> Result<(BufferBlocks, Vec<u32>), Error> {
        let postmaster = self.postmaster.ok_or_else(|| Error::Answer {
            what: "the shared buffers",
            expected: "a server on this machine".to_owned(),
            found: "one elsewhere".to_owned(),
        })?;
        let blocks = BufferBlocks::find(root, &Allocation::ask(&mut self.client)?, postmaster)?;
        Ok((blocks, self.processes(root, postmaster)))
    }

    /// Returns the processes of the server, first the backend that loaded the tables, which has
    /// touched the most.
    pub(crate) fn processes(&self, root: &Root, postmaster: u32) -> Vec<u32> {
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

fn backend(client: &mut Client) -> Result<u32, Error> {
    let row = client.query_one("SELECT pg_backend_pid()", &[]);
    let pid: i32 = row.map_err(Error::client("asking for the backend"))?.get(0);
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
