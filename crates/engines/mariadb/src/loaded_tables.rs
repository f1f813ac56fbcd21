//! A server with cached tables, ready for sessions.

use linux::Root;
use model::{ServerKind, counted};
use server::{CacheMemory, Counters, Error, Loaded, Opener, ServerPlan};

use crate::client::Client;
use crate::door::Door;
use crate::kind::KIND;
use crate::random::Random;
use crate::session::{SessionOrder, thread};
use crate::tables::{self, Table};
use crate::{buffer_pool, settings, status};

/// Rows to read at most while learning what a statement requests.
const LEARN_ROWS: u64 = 1 << 15;
/// Statements to learn from: where the rows of a statement begin in a page decides whether they end
/// in another one. Pairs of neighbours begin in either place.
const LEARN_PAIRS: std::ops::RangeInclusive<u64> = 16..=256;

/// A connection to a server with cached tables.
pub(crate) struct LoadedTables {
    /// The connection that read them, bound to the prewarming CPUs.
    client: Client,
    door: Door,
    tables: Vec<Table>,
    /// The server.
    pid: u32,
    pool_bytes: u64,
}

impl LoadedTables {
    /// Reads the tables into the cache of a server.
    ///
    /// # Errors
    /// When a statement or the binding fails.
    pub(crate) fn prewarm(
        door: Door,
        pid: u32,
        plan: &ServerPlan,
        seed: u64,
    ) -> Result<Self, Error> {
        let mut client = door.connect()?;
        if let Some(cpus) = &plan.placed.prewarm_cpus {
            linux::affinity::bind_process(thread(&mut client)?, cpus)?;
        }
        let tables = Table::all(&plan.tables);
        tables::prewarm(&mut client, &tables, seed)?;
        Ok(LoadedTables {
            client,
            door,
            tables,
            pid,
            pool_bytes: settings::pool_bytes(&plan.tables),
        })
    }

    /// Counts the requests of some statements, while no session runs.
    fn learn(&mut self, work_unit: u64, seed: u64) -> Result<f64, Error> {
        const WHAT: &str = "the requests of a statement";
        let Some(table) = self.tables.first() else {
            return Err(Error::answer(WHAT, "a table", "none"));
        };
        let client = &mut self.client;
        let statement = client.prepare(&table.sql(), WHAT)?;
        let pairs = (LEARN_ROWS / work_unit.max(1)).clamp(*LEARN_PAIRS.start(), *LEARN_PAIRS.end());
        // The last start of a pair has a neighbour, unless a statement reads the whole table.
        let starts = table.rows().saturating_sub(work_unit);
        let mut random = Random::of(seed);
        table.read(client, statement, 1, work_unit)?;
        let before = status::read(client)?;
        for _ in 0..pairs {
            let first = 1 + random.below(starts);
            for first in [first, (first + 1).min(1 + starts)] {
                table.read(client, statement, first, work_unit)?;
            }
        }
        let after = status::read(client)?;
        let from_files = after.from_outside.saturating_sub(before.from_outside);
        if from_files > 0 {
            let found = format!("{} read from files", counted(from_files, "page"));
            return Err(Error::answer(WHAT, "all pages in the buffer pool", found));
        }
        let counts = |counters: &Counters| counters.reads.iter().map(|it| it.count).sum::<u64>();
        let requests = counts(&after).saturating_sub(counts(&before));
        Ok(requests as f64 / (2 * pairs) as f64)
    }
}

impl Loaded for LoadedTables {
    fn kind(&self) -> ServerKind {
        KIND
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn rows(&self) -> u64 {
        self.tables.iter().map(Table::rows).min().unwrap_or(0)
    }

    fn openers(&self, seed: u64) -> Vec<Opener> {
        let orders = (0..)
            .zip(&self.tables)
            .map(|(session, table): (u64, &Table)| SessionOrder {
                door: self.door.clone(),
                table: table.clone(),
                seed: seed.wrapping_add(session),
            });
        orders.map(SessionOrder::opener).collect()
    }

    fn reads_per_statement(&mut self, work_unit: u32, seed: u64) -> Result<f64, Error> {
        self.learn(u64::from(work_unit), seed)
    }

    fn counters(&mut self) -> Result<Counters, Error> {
        status::read(&mut self.client)
    }

    /// The server does not count by session.
    fn session_counter(&self) -> &'static str {
        "none"
    }

    fn cache(&mut self, root: &Root) -> Result<CacheMemory, Error> {
        buffer_pool::find(root, self.pid, self.pool_bytes)
    }

    fn processes(&self, _: &Root) -> Vec<u32> {
        vec![self.pid]
    }
}
