//! One connection to a PostgreSQL server, on which nothing waits without an end: the server limits
//! statements and locks, and this side limits the server, which may be stopped.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use futures_util::TryStreamExt;
use observed::Address;
use pglogin::{Login, addresses};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Runtime;
use tokio_postgres::config::TargetSessionAttrs;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage};

use crate::Error;
use crate::database::{Row, Value};
use crate::place::Place;

/// How long a server may take to accept a connection, unless `connect_timeout` says otherwise.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// How long an answer may take: more than the server lets a statement run.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);
/// No answer is longer.
const ANSWER_BYTES_MAX: usize = 1 << 30;

/// An open connection.
pub(crate) struct Session {
    runtime: Runtime,
    client: Client,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Session")
    }
}

impl Session {
    /// Connects to the first address that accepts, and is what the URL asks for
    /// (`target_session_attrs`).
    pub(super) fn open(login: &Login) -> Result<Self, pglogin::Error> {
        let within = login.config.get_connect_timeout().copied();
        let within = within.unwrap_or(CONNECT_WITHIN);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(|cause| pglogin::Error::Io {
                what: login.connecting(),
                cause,
            })?;
        let mut last = pglogin::Error::Io {
            what: login.connecting(),
            cause: io::Error::other("its name has no address"),
        };
        for address in addresses(&login.config) {
            match connect(&runtime, login, address, within) {
                Ok(client) => return Ok(Session { runtime, client }),
                Err(refused) => last = refused,
            }
        }
        Err(last)
    }

    /// Whether the server has ended it.
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    pub(super) fn execute(
        &self,
        place: &Place,
        sql: &str,
        values: &[Value<'_>],
    ) -> Result<u64, Error> {
        let typed = typed(values)?;
        self.wait(place, self.client.execute_typed(sql, &typed))
    }

    /// Runs statements without values; returns the first value of the last row.
    pub(super) fn batch(&self, place: &Place, sql: &str) -> Result<Option<String>, Error> {
        let answers = self.wait(place, self.client.simple_query(sql))?;
        let rows = answers.iter().filter_map(|answer| match answer {
            SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        });
        Ok(rows.last())
    }

    pub(super) fn each(
        &self,
        place: &Place,
        sql: &str,
        values: &[Value<'_>],
        mut take: impl FnMut(&Row<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let typed = typed(values)?;
        let rows = self.wait(place, self.client.query_typed_raw(sql, typed))?;
        let mut rows = std::pin::pin!(rows);
        let mut bytes = 0;
        while let Some(row) = self.wait(place, rows.try_next())? {
            bytes += row.raw_size_bytes();
            if bytes > ANSWER_BYTES_MAX {
                return Err(crate::error::damaged(
                    place,
                    format!("an answer has more than {ANSWER_BYTES_MAX} bytes"),
                ));
            }
            take(&Row::Server(place, &row))?;
        }
        Ok(())
    }

    fn wait<T>(
        &self,
        place: &Place,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Error> {
        let limited = async { tokio::time::timeout(ANSWER_WITHIN, answer).await };
        match self.runtime.block_on(limited) {
            Ok(answer) => answer.map_err(|cause| Error::server(place, cause)),
            Err(_) => Err(Error::Lost {
                place: place.clone(),
                cause: format!("it did not answer within {} s", ANSWER_WITHIN.as_secs()),
            }),
        }
    }
}

/// The values with their types. PostgreSQL has no text with a zero byte.
fn typed<'v>(
    values: &'v [Value<'v>],
) -> Result<
    Vec<(
        &'v (dyn tokio_postgres::types::ToSql + Sync),
        tokio_postgres::types::Type,
    )>,
    Error,
> {
    let has_zero = |value: &Value<'_>| matches!(value, Value::Text(text) if text.contains('\0'));
    if values.iter().any(has_zero) {
        return Err(Error::NotStorable {
            what: "a text",
            cause: "it has a zero byte, which PostgreSQL cannot store".to_owned(),
        });
    }
    let typed = values.iter().map(|value| (value as _, value.kind()));
    Ok(typed.collect())
}

fn connect(
    runtime: &Runtime,
    login: &Login,
    address: Address,
    within: Duration,
) -> Result<Client, pglogin::Error> {
    let is_socket = matches!(address, Address::Socket(_));
    let held = address.hold()?;
    let socket = login.as_accepted(|| held.connect(within))?;
    let failed = |cause| pglogin::Error::Io {
        what: login.connecting(),
        cause,
    };
    let descriptor = OwnedFd::from(socket);
    let client = match is_socket {
        true => log_in(runtime, login, within, || {
            let stream = UnixStream::from(descriptor);
            stream.set_nonblocking(true)?;
            tokio::net::UnixStream::from_std(stream)
        }),
        false => log_in(runtime, login, within, || {
            let stream = TcpStream::from(descriptor);
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            tokio::net::TcpStream::from_std(stream)
        }),
    };
    let client = client.unwrap_or_else(|silent| Err(failed(silent)))?;
    check_role(runtime, login, within, &client).map(|()| client)
}

/// Logs in on a socket; an error of the outer kind is a server that is silent.
fn log_in<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    runtime: &Runtime,
    login: &Login,
    within: Duration,
    stream: impl FnOnce() -> io::Result<S>,
) -> io::Result<Result<Client, pglogin::Error>> {
    let connected = runtime.block_on(async {
        let logged_in = login.config.connect_raw(stream()?, NoTls);
        let logged_in = tokio::time::timeout(within, logged_in).await;
        logged_in.map_err(|_| silent(within))
    })?;
    Ok(match connected {
        Ok((client, connection)) => {
            // What ends the connection is what the next statement says.
            runtime.spawn(async move { drop(connection.await) });
            Ok(client)
        }
        Err(cause) => Err(pglogin::Error::client(login.connecting())(cause)),
    })
}

fn silent(within: Duration) -> io::Error {
    let message = format!("no answer within {} s", within.as_secs_f64());
    io::Error::new(io::ErrorKind::TimedOut, message)
}

/// Refuses a standby where the URL asks for a server that can be written, and the reverse.
fn check_role(
    runtime: &Runtime,
    login: &Login,
    within: Duration,
    client: &Client,
) -> Result<(), pglogin::Error> {
    let wanted = match login.config.get_target_session_attrs() {
        TargetSessionAttrs::ReadWrite => "off",
        TargetSessionAttrs::ReadOnly => "on",
        _ => return Ok(()),
    };
    let asked = async {
        tokio::time::timeout(within, client.simple_query("SHOW transaction_read_only")).await
    };
    let what = login.connecting();
    let answered = runtime.block_on(asked);
    let answered = answered.map_err(|_| pglogin::Error::Io {
        what: what.clone(),
        cause: silent(within),
    })?;
    let answered = answered.map_err(pglogin::Error::client(what.clone()))?;
    let is_wanted = answered
        .iter()
        .any(|answer| matches!(answer, SimpleQueryMessage::Row(row) if row.get(0) == Some(wanted)));
    match is_wanted {
        true => Ok(()),
        false => Err(pglogin::Error::Io {
            what,
            cause: io::Error::other("no server is as target_session_attrs asks"),
        }),
    }
}
