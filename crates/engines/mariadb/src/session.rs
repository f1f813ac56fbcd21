//! One session: its connection, whose statements this client sends one after another.

use server::{Call, Done, Error, Listener, Opener, Session, repeat};

use crate::client::{Client, Statement};
use crate::door::Door;
use crate::random::Random;
use crate::tables::Table;

/// The parameters of a session.
#[derive(Clone, Debug)]
pub(crate) struct SessionOrder {
    /// How it connects.
    pub door: Door,
    /// What it reads.
    pub table: Table,
    /// Seed of the keys that it draws.
    pub seed: u64,
}

impl SessionOrder {
    /// Returns what opens the session.
    pub(crate) fn opener(self) -> Opener {
        Box::new(move |listener| Ok(Box::new(Connection::open(self, listener)?)))
    }
}

/// An open session.
struct Connection {
    client: Client,
    statement: Statement,
    table: Table,
    random: Random,
    /// Its thread in the server.
    thread: u32,
    listener: Listener,
}

impl Connection {
    fn open(order: SessionOrder, listener: Listener) -> Result<Self, Error> {
        let mut client = order.door.connect()?;
        Ok(Connection {
            thread: thread(&mut client)?,
            statement: client.prepare(&order.table.sql(), "preparing the session")?,
            client,
            table: order.table,
            random: Random::of(order.seed),
            listener,
        })
    }
}

impl Session for Connection {
    fn task(&self) -> Option<u32> {
        Some(self.thread)
    }

    fn stop(&self) -> Box<dyn FnOnce() + Send> {
        match self.client.stopper() {
            Ok(stop) => Box::new(stop),
            // Its call then ends by itself.
            Err(_) => Box::new(|| {}),
        }
    }

    fn call(&mut self, work_unit: u32, call: &Call) -> Result<Done, Error> {
        let Connection {
            client,
            table,
            random,
            ..
        } = self;
        let (statement, rows) = (self.statement, u64::from(work_unit));
        let starts = (table.rows() + 1).saturating_sub(rows);
        repeat(call, &self.listener, Some(self.thread), || {
            let first = 1 + random.below(starts);
            table.read(client, statement, first, rows)
        })
    }

    /// The server counts at once, and not by session.
    fn hand_in(&mut self) -> Result<Option<u64>, Error> {
        Ok(None)
    }
}

/// Returns the kernel's id of the server's thread for this connection.
///
/// # Errors
/// When the server does not tell it.
pub(crate) fn thread(client: &mut Client) -> Result<u32, Error> {
    const WHAT: &str = "asking for the thread of the session";
    let sql = "SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()";
    let value = client.value(sql, WHAT)?;
    let thread = value.as_ref().and_then(|text| text.parse().ok());
    let found = || value.clone().unwrap_or_else(|| "NULL".to_owned());
    thread.ok_or_else(|| Error::answer(WHAT, "the id of a thread", found()))
}
