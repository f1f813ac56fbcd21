//! A server with the keys of the load in its memory.

use std::path::{Path, PathBuf};

use linux::Root;
use model::ServerKind;
use server::{CacheMemory, Counters, Error, Loaded, Opener, ServerPlan};

use crate::client::{Client, PIPELINE};
use crate::cpu_lists::CpuLists;
use crate::keys::{Random, key, write_value};
use crate::memory;
use crate::session::KeySession;
use crate::statistics;

/// A loaded server.
#[derive(Debug)]
pub(crate) struct LoadedKeys {
    kind: ServerKind,
    client: Client,
    socket: PathBuf,
    server: u32,
    lists: CpuLists,
    sessions: u32,
    rows: u64,
}

impl LoadedKeys {
    /// Writes all keys, those of all sessions together in a random order.
    ///
    /// # Errors
    /// When the server refuses one.
    pub(crate) fn load(
        kind: ServerKind,
        socket: &Path,
        server: u32,
        plan: &ServerPlan,
        seed: u64,
    ) -> Result<Self, Error> {
        let tables = &plan.tables;
        let mut client = Client::connect(socket)?;
        let rows = u64::from(tables.rows_per_table());
        let all = (0..tables.sessions).flat_map(|session| (0..rows).map(move |row| (session, row)));
        let mut all: Vec<(u32, u64)> = all.collect();
        Random::of(seed, u32::MAX).shuffle(&mut all);
        let mut value = Vec::new();
        for batch in all.chunks(PIPELINE) {
            for (session, row) in batch {
                write_value(*session, *row, &mut value);
                client.add(&[b"SET", key(*session, *row).as_bytes(), &value]);
            }
            client.send()?;
            for _ in batch {
                client.reply()?;
            }
        }
        Ok(LoadedKeys {
            kind,
            client,
            socket: socket.to_owned(),
            server,
            lists: CpuLists::of(&plan.settings),
            sessions: tables.sessions,
            rows,
        })
    }

    fn session(&self, session: u32, seed: u64) -> Result<KeySession, Error> {
        KeySession::open(&self.socket, self.server, (session, self.rows), seed)
    }
}

impl Loaded for LoadedKeys {
    fn kind(&self) -> ServerKind {
        self.kind
    }

    fn is_ours(&self) -> bool {
        true
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn openers(&self, seed: u64) -> Vec<Opener> {
        let opener = |session: u32| -> Opener {
            let (socket, server, rows) = (self.socket.clone(), self.server, self.rows);
            Box::new(move |listener| {
                let opened = KeySession::open(&socket, server, (session, rows), seed)?;
                Ok(Box::new(opened.heard_by(listener)?))
            })
        };
        (0..self.sessions).map(opener).collect()
    }

    fn reads_per_statement(&mut self, work_unit: u32, seed: u64) -> Result<f64, Error> {
        const STATEMENTS: u32 = 8;
        let mut session = self.session(0, seed)?;
        let before = self.counters()?;
        for _ in 0..STATEMENTS {
            if !session.statement(work_unit)? {
                return Err(Error::answer(
                    "the values of the load",
                    "those that were written",
                    "others",
                ));
            }
        }
        let after = self.counters()?;
        let hits = |counters: &Counters| counters.reads.iter().map(|it| it.count).sum::<u64>();
        let read = hits(&after).saturating_sub(hits(&before));
        Ok(read as f64 / f64::from(STATEMENTS))
    }

    fn counters(&mut self) -> Result<Counters, Error> {
        statistics::read(&mut self.client)
    }

    fn session_counter(&self) -> &'static str {
        "none of a session"
    }

    fn cache(&mut self, root: &Root) -> Result<CacheMemory, Error> {
        memory::of_server(root, self.server)
    }

    fn processes(&self, _: &Root) -> Vec<u32> {
        vec![self.server]
    }

    fn contradictions(&self, root: &Root) -> Vec<String> {
        self.lists.contradictions(root, self.server)
    }
}
