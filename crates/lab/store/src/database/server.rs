//! A store in PostgreSQL: transactions that survive the end of a connection, each made exactly
//! once.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::time::{Duration, Instant};

use pglogin::{Login, ServerUrl};

use crate::Error;
use crate::database::Transaction;
use crate::database::session::Session;
use crate::place::Place;

/// How long a server may be away, since it restarts, or another takes its place; or have others'
/// writes to do before ours.
const AWAY_MAX: Duration = Duration::from_secs(60);
/// The first wait for it, which doubles up to the longest.
const WAIT: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(3));

/// Limits of every transaction, on the server: of another's lock, of one statement, and of this
/// process while it holds locks. Settings are local to the transaction, so that connections may be
/// pooled. Nobody else's tables are found by the names of ours. What was committed is on disk.
const LIMITS: &str = "
    SET LOCAL search_path = numalab, pg_temp;
    SET LOCAL lock_timeout = '10s';
    SET LOCAL statement_timeout = '50s';
    SET LOCAL idle_in_transaction_session_timeout = '60s';
    SET LOCAL client_min_messages = error;
    SELECT set_config('synchronous_commit', 'on', true)
    WHERE current_setting('synchronous_commit') IN ('off', 'local');";
/// What begins a transaction that reads.
const READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;";
/// What begins one that writes.
const WRITE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED;";
/// Forgets writers of other days, whose last writes nobody asks for.
const FORGET: &str = "
    DELETE FROM writers WHERE writer IN (
        SELECT writer FROM writers WHERE at < now() - interval '1 day' FOR UPDATE SKIP LOCKED);";

/// A server, and the connection to it while there is one.
pub(crate) struct Server {
    login: Login,
    session: RefCell<Option<Session>>,
    /// What tells this writer from others, and the number of its last write. The number of a write
    /// is committed with it, so that the server can say afterwards whether it was. The server's own
    /// numbers of transactions are no such mark: after a crash, those that left no trace are given
    /// out again.
    writer: String,
    writes: Cell<u64>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Server")
    }
}

impl Server {
    /// Connects. With `is_patient`, waits for a server that is away.
    pub(crate) fn open(place: &Place, url: &ServerUrl, is_patient: bool) -> Result<Self, Error> {
        let open = || {
            let found = Login::find(url.clone(), Session::open);
            found.map_err(|cause| Error::login(place, cause))
        };
        let (login, session) = match is_patient {
            true => patiently(open)?,
            false => open()?,
        };
        Ok(Server {
            login,
            session: RefCell::new(Some(session)),
            writer: new_uid()?,
            writes: Cell::new(0),
        })
    }

    /// Reads in one snapshot.
    pub(super) fn read<T>(
        &self,
        place: &Place,
        work: &dyn Fn(&Transaction<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        patiently(|| {
            let session = self.session(place)?;
            let done = session
                .batch(place, &format!("{READ}{LIMITS}"))
                .and_then(|_| work(&Transaction::Server(place, &session)));
            self.end(place, session, done.as_ref().err());
            done
        })
    }

    /// Writes exactly once.
    pub(super) fn write<T>(
        &self,
        place: &Place,
        work: &dyn Fn(&Transaction<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let number = self.writes.get() + 1;
        self.writes.set(number);
        let forget = if number == 1 { FORGET } else { "" };
        let begin = format!("{WRITE}{LIMITS}{forget}{}", self.mark(number));
        patiently(|| match self.write_once(place, &begin, work) {
            // The server ended with the commit on its way: it alone knows whether it arrived.
            Err((Some(value), lost)) if lost.is_passing() => {
                match self.was_committed(place, number)? {
                    true => Ok(value),
                    false => Err(lost),
                }
            }
            done => done.map_err(|(_, error)| error),
        })
    }

    /// Writes what does no harm if it is written twice, such as tables that are not there yet.
    pub(super) fn write_unmarked<T>(
        &self,
        place: &Place,
        work: &dyn Fn(&Transaction<'_>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let begin = format!("{WRITE}{LIMITS}");
        patiently(|| {
            let done = self.write_once(place, &begin, work);
            done.map_err(|(_, error)| error)
        })
    }

    /// Writes; with an error of the commit comes what `work` returned.
    fn write_once<T>(
        &self,
        place: &Place,
        begin: &str,
        work: &dyn Fn(&Transaction<'_>) -> Result<T, Error>,
    ) -> Result<T, (Option<T>, Error)> {
        let session = self.session(place).map_err(|error| (None, error))?;
        let begun = session.batch(place, begin);
        let done = begun.and_then(|_| work(&Transaction::Server(place, &session)));
        let value = match done {
            Ok(value) => value,
            Err(error) => {
                self.end(place, session, Some(&error));
                return Err((None, error));
            }
        };
        match session.batch(place, "COMMIT") {
            Ok(_) => {
                self.session.replace(Some(session));
                Ok(value)
            }
            Err(error) => Err((Some(value), error)),
        }
    }

    /// The statement that numbers a write, and returns the number that was there if it is none.
    fn mark(&self, number: u64) -> String {
        let writer = &self.writer;
        let set = match number {
            0 => "number = writers.number".to_owned(),
            number => format!("number = {number}, at = now()"),
        };
        format!(
            "INSERT INTO writers (writer, number) VALUES ('{writer}', {number})
             ON CONFLICT (writer) DO UPDATE SET {set} RETURNING number"
        )
    }

    /// Asks the server, once it is there again, for the last write that it has. Where the write is
    /// still on its way, this waits for its end: both write the same row.
    fn was_committed(&self, place: &Place, number: u64) -> Result<bool, Error> {
        let ask = format!("{WRITE}{LIMITS}{}", self.mark(0));
        let last = patiently(|| {
            let session = self.session(place)?;
            let last = session.batch(place, &ask);
            self.end(place, session, last.as_ref().err());
            last
        });
        let last = last.map_err(|cause| Error::Unknown {
            place: place.clone(),
            cause: cause.to_string(),
        })?;
        Ok(last == Some(number.to_string()))
    }

    /// Takes the connection, or makes a new one.
    fn session(&self, place: &Place) -> Result<Session, Error> {
        match self.session.take().filter(|session| !session.is_closed()) {
            Some(session) => Ok(session),
            None => Session::open(&self.login).map_err(|cause| Error::login(place, cause)),
        }
    }

    /// Ends a transaction of which nothing shall stay, and keeps the connection if that works.
    fn end(&self, place: &Place, session: Session, failed: Option<&Error>) {
        // A server that is silent would be silent again.
        let is_gone = failed.is_some_and(|error| matches!(error, Error::Lost { .. }));
        if !is_gone && session.batch(place, "ROLLBACK").is_ok() {
            self.session.replace(Some(session));
        }
    }
}

/// Does it again while the server is away, and gives up with its last error.
fn patiently<T>(work: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
    let until = Instant::now() + AWAY_MAX;
    let mut wait = WAIT.0;
    loop {
        match work() {
            Err(error) if error.is_passing() && Instant::now() < until => {
                std::thread::sleep(wait.mul_f64(0.5 + spread()));
                wait = (wait * 2).min(WAIT.1);
            }
            done => return done,
        }
    }
}

/// Between 0 and 1, so that many clients do not come back at the same moment.
fn spread() -> f64 {
    let mut byte = [0];
    // Without random numbers, all come back at once.
    let _ = getrandom::fill(&mut byte);
    f64::from(byte[0]) / 256.0
}

/// Returns 128 random bits in hexadecimal digits.
pub(crate) fn new_uid() -> Result<String, Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|cause| Error::NotStorable {
        what: "a random id",
        cause: cause.to_string(),
    })?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}
