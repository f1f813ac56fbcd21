//! Queries a server through its socket.

use postgres::Client;

use super::contents::Contents;
use super::names::{self, Database, Names};
use super::server_view::Said;
use crate::buffers::Allocation;
use crate::local::Door;
use crate::version::version_of;
use model::exit::ExitCode;
use server::Error;

use crate::Version;
use crate::error;

/// The server's answers.
pub(super) struct Answers {
    pub version: Version,
    pub allocation: Allocation,
    pub contents: Contents,
    pub names: Names,
    pub server_view: Said,
}

/// Queries everything.
///
/// # Errors
/// When the server cannot be reached or lacks the extension, or the role lacks the privilege.
pub(super) fn ask(door: &Door<'_>, with_server_view: bool) -> Result<Answers, Error> {
    let mut first = door.connect_somewhere()?;
    let version = version_of(&mut first)?;
    let allocation = Allocation::ask(&mut first)?;
    let databases = names::databases(&mut first)?;
    let (mut client, schema) = with_extension(first, &databases, door)?;
    let contents = Contents::read(&mut client, &schema)?;
    let server_view = Said::of(&mut client, &schema, with_server_view)?;
    let names = names::look_up(&contents, &databases, door)?;
    Ok(Answers {
        version,
        allocation,
        contents,
        names,
        server_view,
    })
}

/// Returns a connection to a database that has the extension, and the quoted schema of the
/// extension.
fn with_extension(
    first: Client,
    databases: &[Database],
    door: &Door<'_>,
) -> Result<(Client, String), Error> {
    let mut first = Some(first);
    let mut is_available = false;
    for name in std::iter::once(None).chain(databases.iter().map(|it| Some(&it.name))) {
        // A database that rejects the connection may have the extension, but is of no use.
        let client = name.map_or_else(|| first.take(), |name| door.connect(name).ok());
        let Some(mut client) = client else {
            continue;
        };
        let sql = "SELECT (SELECT quote_ident(nspname) FROM pg_extension \
                             JOIN pg_namespace ON pg_namespace.oid = extnamespace \
                            WHERE extname = 'pg_buffercache'), \
                          EXISTS (SELECT FROM pg_available_extensions \
                                   WHERE name = 'pg_buffercache')";
        let row = client.query_one(sql, &[]);
        let row = row.map_err(error::client("looking for the extension pg_buffercache"))?;
        is_available |= row.get::<_, bool>(1);
        if let Some(schema) = row.get(0) {
            return Ok((client, schema));
        }
    }
    let message = "no database of this server that accepts our connection has the extension \
                   pg_buffercache";
    Err(
        Error::new(ExitCode::MachineCannot, message).advise(match is_available {
            true => {
                "run as a superuser, in any database: CREATE EXTENSION pg_buffercache; (numalab \
                 creates nothing in a server that it inspects)"
            }
            false => {
                "install its files (Debian: postgresql-NN, Red Hat: postgresqlNN-contrib), then \
                 run as a superuser: CREATE EXTENSION pg_buffercache;"
            }
        }),
    )
}
