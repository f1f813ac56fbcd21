//! A schema of numalab's in a database of the user's: created through the journal, and dropped with
//! everything in it. Only a schema with numalab's mark is dropped.

use std::fmt::{self, Display, Formatter};

use journal::{Change, Journal, Presence, ProcessIdentity, TakeBack};
use pglogin::{Login, ServerUrl, without_password};
use postgres::Client;
use serde::{Deserialize, Serialize};
use server::{Error, TablesPlan};

use model::exit::ExitCode;

use crate::error;
use crate::login::{connect, find};
use crate::tables::{self, Table, quoted};

/// The comment on every such schema.
const MARK: &str = "made by numalab, to be dropped by it";

/// An existing schema; dropped by [`OwnSchema::remove`] or on drop.
pub(super) struct OwnSchema {
    login: Login,
    name: String,
    journal: Journal,
    entry: u64,
    is_removed: bool,
}

impl OwnSchema {
    /// Creates the schema and its tables. Keeps for `numalab undo` how the server is reached,
    /// without the password.
    ///
    /// # Errors
    /// When the schema exists already, the role lacks the privilege, the server is a standby or its
    /// disk is full; nothing is left behind then.
    pub(super) fn make(
        client: &mut Client,
        login: &Login,
        name: &str,
        load: TablesPlan,
        journal: &Journal,
    ) -> Result<(Self, Vec<Table>), Error> {
        let sql = "SELECT pg_is_in_recovery()";
        let row = client.query_one(sql, &[]);
        let is_standby: bool = row
            .map_err(error::client("asking for the server's role"))?
            .get(0);
        if is_standby {
            let message = "the server is a standby: cannot create tables in it";
            return Err(Error::new(ExitCode::Usage, message)
                .advise("read an existing table: --table SCHEMA.TABLE"));
        }
        let entry = SchemaMade {
            server: without_password(&login.config),
            schema: name.to_owned(),
        }
        .record(journal)?;
        let quoted_name = quoted(name);
        let sql = format!(
            "BEGIN; CREATE SCHEMA {quoted_name}; \
             COMMENT ON SCHEMA {quoted_name} IS '{MARK}'; COMMIT"
        );
        if let Err(cause) = client.batch_execute(&sql) {
            journal.mark_undone(entry)?;
            return Err(error::client(format!("making the schema {quoted_name}"))(
                cause,
            ));
        }
        // From here on dropping the value drops the schema, whatever fails.
        let schema = OwnSchema {
            login: login.clone(),
            name: name.to_owned(),
            journal: journal.clone(),
            entry,
            is_removed: false,
        };
        let tables = tables::make(client, name, load, entry)?;
        Ok((schema, tables))
    }

    /// Drops the schema.
    ///
    /// # Errors
    /// When the server does not drop it; it is still in the journal then.
    pub(super) fn remove(mut self) -> Result<(), Error> {
        self.remove_once()
    }

    fn remove_once(&mut self) -> Result<(), Error> {
        self.is_removed = true;
        let mut client = connect(&self.login)?;
        drop_if_ours(&mut client, &self.name)?;
        Ok(self.journal.mark_undone(self.entry)?)
    }
}

impl Drop for OwnSchema {
    fn drop(&mut self) {
        if !self.is_removed {
            // What fails here stays in the journal for `numalab undo`.
            let _ = self.remove_once();
        }
    }
}

/// A schema was created in a database of an existing server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SchemaMade {
    /// How to reach the server, without a password.
    server: String,
    /// The schema.
    schema: String,
}

impl Display for SchemaMade {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "schema {} in the database of {}",
            self.schema, self.server
        )
    }
}

impl Change for SchemaMade {
    const KIND: &'static str = "schema-made";
    const OUTLIVES_A_BOOT: bool = true;

    /// Always [`Presence::There`]: only the server has the comment that marks the schema, and
    /// `drop_if_ours` checks it.
    fn presence(&self, _: &ProcessIdentity) -> Result<Presence, journal::Error> {
        Ok(Presence::There)
    }

    /// Makes the server drop the schema, unless it is gone.
    fn take_back(&self, _: &TakeBack<'_>) -> Result<Option<String>, journal::Error> {
        let connected = ServerUrl::parse(&self.server, false)
            .map_err(error::login)
            .and_then(find);
        let dropped = connected.and_then(|(_, mut client)| drop_if_ours(&mut client, &self.schema));
        dropped.map_err(|error| journal::Error::Undo {
            change: self.to_string(),
            reason: format!(
                "{error}; drop it manually: DROP SCHEMA {} CASCADE",
                quoted(&self.schema)
            ),
        })?;
        Ok(None)
    }
}

fn drop_if_ours(client: &mut Client, name: &str) -> Result<(), Error> {
    let what = || error::client(format!("dropping the schema {}", quoted(name)));
    let sql = "SELECT coalesce(obj_description(oid, 'pg_namespace'), '') FROM pg_namespace \
               WHERE nspname = $1";
    let row = client.query_opt(sql, &[&name]).map_err(what())?;
    let Some(row) = row else {
        return Ok(());
    };
    let comment: String = row.get(0);
    if comment != MARK {
        return Err(Error::answer(
            "the schema to drop",
            format!("the comment {MARK:?} on {}", quoted(name)),
            format!("{comment:?}"),
        ));
    }
    let sql = format!("DROP SCHEMA {} CASCADE", quoted(name));
    client.batch_execute(&sql).map_err(what())
}
