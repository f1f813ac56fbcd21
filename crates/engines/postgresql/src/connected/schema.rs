//! A schema of ours in another's database: made through the journal, and dropped with all
//! that is in it. Only one that carries our mark is dropped.

use numa::journal::{Change, Journal};
use postgres::Client;

use super::url::{config, connect, without_password};
use crate::tables::{self, Table, quoted};
use crate::{Error, TablesPlan};

/// What the comment of every such schema is.
const MARK: &str = "made by numalab, to be dropped by it";

/// A schema that exists; dropped by [`OwnSchema::remove`], or when the value is.
pub(super) struct OwnSchema {
    config: postgres::Config,
    name: String,
    journal: Journal,
    entry: u64,
    is_removed: bool,
}

impl OwnSchema {
    /// Makes it, and its tables. `url` is kept for `numalab undo`, without its password.
    ///
    /// # Errors
    /// When there is one already, the role may not, or the server is a standby or its disk full;
    /// nothing is left behind then.
    pub(super) fn make(
        client: &mut Client,
        config: &postgres::Config,
        url: &str,
        name: &str,
        load: TablesPlan,
        journal: &Journal,
    ) -> Result<(Self, Vec<Table>), Error> {
        let sql = "SELECT pg_is_in_recovery()";
        let row = client.query_one(sql, &[]);
        let is_standby: bool = row
            .map_err(Error::client("asking for the server's role"))?
            .get(0);
        if is_standby {
            return Err(Error::Standby);
        }
        let entry = journal.record(Change::SchemaMade {
            server: without_password(url, config),
            schema: name.to_owned(),
        })?;
        let quoted_name = quoted(name);
        let sql = format!(
            "BEGIN; CREATE SCHEMA {quoted_name}; \
             COMMENT ON SCHEMA {quoted_name} IS '{MARK}'; COMMIT"
        );
        if let Err(cause) = client.batch_execute(&sql) {
            journal.mark_undone(entry)?;
            return Err(Error::client(format!("making the schema {quoted_name}"))(
                cause,
            ));
        }
        // From here on dropping the value drops the schema, whatever fails.
        let schema = OwnSchema {
            config: config.clone(),
            name: name.to_owned(),
            journal: journal.clone(),
            entry,
            is_removed: false,
        };
        let tables = tables::make(client, name, load, entry)?;
        Ok((schema, tables))
    }

    /// Drops it.
    ///
    /// # Errors
    /// When the server does not; it is still in the journal then.
    pub(super) fn remove(mut self) -> Result<(), Error> {
        self.remove_once()
    }

    fn remove_once(&mut self) -> Result<(), Error> {
        self.is_removed = true;
        drop_if_ours(&mut connect(&self.config)?, &self.name)?;
        Ok(self.journal.mark_undone(self.entry)?)
    }
}

impl Drop for OwnSchema {
    fn drop(&mut self) {
        if !self.is_removed {
            // What fails here stays in the journal, and `numalab undo` takes it back.
            let _ = self.remove_once();
        }
    }
}

/// Drops a schema that a numalab which is gone has made. One that is gone is no error.
///
/// # Errors
/// When the server does not let us in, or there is one of this name that is not ours.
pub fn drop_schema(url: &str, name: &str) -> Result<(), Error> {
    drop_if_ours(&mut connect(&config(url, false)?)?, name)
}

fn drop_if_ours(client: &mut Client, name: &str) -> Result<(), Error> {
    let what = || Error::client(format!("dropping the schema {}", quoted(name)));
    let sql = "SELECT coalesce(obj_description(oid, 'pg_namespace'), '') FROM pg_namespace \
               WHERE nspname = $1";
    let row = client.query_opt(sql, &[&name]).map_err(what())?;
    let Some(row) = row else {
        return Ok(());
    };
    let comment: String = row.get(0);
    if comment != MARK {
        return Err(Error::Answer {
            what: "the schema to drop",
            expected: format!("the comment {MARK:?} on {}", quoted(name)),
            found: format!("{comment:?}"),
        });
    }
    let sql = format!("DROP SCHEMA {} CASCADE", quoted(name));
    client.batch_execute(&sql).map_err(what())
}
