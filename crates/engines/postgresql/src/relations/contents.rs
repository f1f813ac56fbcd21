//! Reads which block each shared buffer holds.

use std::collections::HashMap;

use postgres::Client;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::ToSql;
use server::Error;

use crate::error;

/// The file of a relation, which identifies the relation in a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct RelationFile {
    /// Its database; 0 for relations shared by all databases.
    pub database: u32,
    pub tablespace: u32,
    pub filenode: u32,
}

/// What the shared buffers hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Contents {
    /// The relations that have blocks in the buffers.
    pub files: Vec<RelationFile>,
    /// The used buffers, numbered from 0, each with the index of the file of its block.
    pub buffers: Vec<(u32, u32)>,
}

impl Contents {
    /// Reads the view of the extension, which is in schema `schema`, row by row.
    ///
    /// # Errors
    /// When the role may not read it.
    pub(super) fn read(client: &mut Client, schema: &str) -> Result<Self, Error> {
        let what = || error::client("reading pg_buffercache");
        let sql = format!(
            "SELECT bufferid, reldatabase, reltablespace, relfilenode FROM {schema}.pg_buffercache \
             WHERE relfilenode IS NOT NULL"
        );
        let none = std::iter::empty::<&(dyn ToSql + Sync)>();
        let mut rows = client.query_raw(&sql, none).map_err(what())?;
        let mut contents = Contents::default();
        let mut numbers = HashMap::new();
        while let Some(row) = rows.next().map_err(what())? {
            let file = RelationFile {
                database: row.get(1),
                tablespace: row.get(2),
                filenode: row.get(3),
            };
            let number = *numbers.entry(file).or_insert_with(|| {
                contents.files.push(file);
                contents.files.len() - 1
            });
            // The view numbers buffers from 1.
            let buffer = row.get::<_, i32>(0).unsigned_abs().saturating_sub(1);
            contents.buffers.push((buffer, number as u32));
        }
        Ok(contents)
    }
}
