//! One session: its connection, and statements of pipelined GETs.

use std::path::Path;

use server::{Call, Done, Error, Listener, Session, repeat};

use crate::client::{Client, PIPELINE};
use crate::keys::{Random, is_value, key};

/// A connection with its own keys.
#[derive(Debug)]
pub(crate) struct KeySession {
    client: Client,
    /// The server's process, whose main thread does the work of all sessions.
    server: u32,
    session: u32,
    rows: u64,
    random: Random,
}

impl KeySession {
    /// Connects; `keys` are the session and its rows.
    ///
    /// # Errors
    /// When no server listens.
    pub(crate) fn open(
        socket: &Path,
        server: u32,
        (session, rows): (u32, u64),
        seed: u64,
    ) -> Result<Self, Error> {
        Ok(KeySession {
            client: Client::connect(socket)?,
            server,
            session,
            rows,
            random: Random::of(seed, session),
        })
    }

    /// The session of a trial.
    ///
    /// # Errors
    /// When there is no descriptor left.
    pub(crate) fn heard_by(self, listener: Listener) -> Result<HeardSession, Error> {
        let stop = self.client.stop()?;
        Ok(HeardSession {
            session: self,
            listener,
            stop: std::cell::Cell::new(Some(Box::new(stop))),
        })
    }

    /// Reads the values of `work_unit` keys, each drawn by itself; returns whether they are those
    /// that were written.
    ///
    /// # Errors
    /// When the connection ends.
    pub(crate) fn statement(&mut self, work_unit: u32) -> Result<bool, Error> {
        let rows: Vec<u64> = (0..work_unit)
            .map(|_| self.random.below(self.rows.max(1)))
            .collect();
        let mut is_right = true;
        for rows in rows.chunks(PIPELINE) {
            for row in rows {
                self.client
                    .add(&[b"GET", key(self.session, *row).as_bytes()]);
            }
            self.client.send()?;
            for row in rows {
                let value = self.client.reply()?;
                is_right &= value.is_some_and(|value| is_value(self.session, *row, value));
            }
        }
        Ok(is_right)
    }
}

/// A session of a trial.
pub(crate) struct HeardSession {
    session: KeySession,
    listener: Listener,
    stop: std::cell::Cell<Option<Box<dyn FnOnce() + Send>>>,
}

impl Session for HeardSession {
    fn task(&self) -> Option<u32> {
        Some(self.session.server)
    }

    fn stop(&self) -> Box<dyn FnOnce() + Send> {
        self.stop.take().unwrap_or_else(|| Box::new(|| {}))
    }

    fn call(&mut self, work_unit: u32, call: &Call) -> Result<Done, Error> {
        let (listener, server) = (self.listener.clone(), self.session.server);
        let session = &mut self.session;
        repeat(call, &listener, Some(server), || {
            session.statement(work_unit)
        })
    }

    fn hand_in(&mut self) -> Result<Option<u64>, Error> {
        Ok(None)
    }
}
