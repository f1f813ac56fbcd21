//! What the sessions of a running server do (`pg_stat_activity`).

use std::path::Path;

use model::ServerSession;
use postgres::Row;
use server::Error;

use crate::error;
use crate::local::LocalServer;

/// Who waits for the answer looks at a screen.
const WITHIN: &str = "SET statement_timeout = '2s'";

/// The busiest sessions first, and of each text no more than a screen shows. A role that may not
/// see the statement of another is told so in its place.
const SQL: &str = "
    SELECT pid, coalesce(usename::text, ''), coalesce(datname::text, ''),
           left(coalesce(application_name, ''), 64), coalesce(state, ''),
           wait_event_type || ': ' || wait_event,
           extract(epoch FROM clock_timestamp() - state_change)::float8,
           left(coalesce(query, ''), 256)
    FROM pg_stat_activity
    WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
    ORDER BY coalesce(state, '') <> 'active', state_change NULLS LAST, pid
    LIMIT 500";

/// Asks the server of a data directory what its sessions do: as the owner of the directory if this
/// process is root, else as its user.
///
/// # Errors
/// When the server does not run here, or does not let this user in.
pub fn sessions(data: &Path) -> Result<Vec<ServerSession>, Error> {
    let server = LocalServer::of(data, None)?;
    if linux::process::works_in(server.pid(), data) != Some(true) {
        return Err(Error::answer(
            "the server of the data directory",
            "a process that works in it",
            format!(
                "process {}, in a container or of another user",
                server.pid()
            ),
        ));
    }
    server.ask(|door| {
        let mut client = door.connect_somewhere()?;
        let asking = || error::client("asking for sessions");
        client.batch_execute(WITHIN).map_err(asking())?;
        let rows = client.query(SQL, &[]).map_err(asking())?;
        Ok(rows.iter().map(session).collect())
    })
}

fn session(row: &Row) -> ServerSession {
    ServerSession {
        pid: row.get::<_, i32>(0).unsigned_abs(),
        user: row.get(1),
        database: row.get(2),
        application: row.get(3),
        state: row.get(4),
        wait: row.get(5),
        state_s: row.get(6),
        query: row.get(7),
    }
}
