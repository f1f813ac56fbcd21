//! The names of databases and of relations. Each database knows only its own relations.

use std::collections::HashMap;

use postgres::Client;

use super::contents::{Contents, RelationFile};
use server::Error;

use crate::error;
use crate::local::Door;

/// A database that accepts connections.
pub(super) struct Database {
    pub oid: u32,
    pub name: String,
}

/// The name and kind of a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    /// Schema and name.
    pub name: String,
    pub kind: &'static str,
}

/// The names of the relations in the buffers.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub of_files: HashMap<RelationFile, Name>,
    /// Names of databases by their id.
    pub of_databases: HashMap<u32, String>,
    /// Databases that rejected the connection.
    pub refused: Vec<String>,
}

/// The names of `relkind` (pg_class in the documentation); relations of other kinds have no blocks.
const KINDS: [(&str, &str); 6] = [
    ("r", "table"),
    ("i", "index"),
    ("t", "toast table"),
    ("m", "materialized view"),
    ("S", "sequence"),
    ("p", "partitioned table"),
];

/// Returns the databases that accept connections.
///
/// # Errors
/// When the server does not list them.
pub(super) fn databases(client: &mut Client) -> Result<Vec<Database>, Error> {
    let sql = "SELECT oid, datname::text FROM pg_database WHERE datallowconn ORDER BY oid";
    let rows = client.query(sql, &[]);
    let rows = rows.map_err(error::client("listing databases"))?;
    let database = |row: &postgres::Row| Database {
        oid: row.get(0),
        name: row.get(1),
    };
    Ok(rows.iter().map(database).collect())
}

/// Looks up the names of relations in every database that has blocks in the buffers.
///
/// # Errors
/// When a database that accepts the connection does not answer.
pub(super) fn look_up(
    contents: &Contents,
    databases: &[Database],
    door: &Door<'_>,
) -> Result<Names, Error> {
    let mut names = Names::default();
    let mut has_shared = false;
    for database in databases {
        let Database { oid, name } = database;
        names.of_databases.insert(*oid, name.clone());
        if !contents.files.iter().any(|file| file.database == *oid) {
            continue;
        }
        match door.connect(name) {
            Ok(mut client) => {
                of_database(&mut client, *oid, &mut names)?;
                has_shared = true;
            }
            Err(_) => names.refused.push(name.clone()),
        }
    }
    if !has_shared
        && let Some(mut client) = databases.iter().find_map(|it| door.connect(&it.name).ok())
    {
        of_database(&mut client, 0, &mut names)?;
    }
    Ok(names)
}

/// Adds the names of the relations of one database and of those shared by all databases.
fn of_database(client: &mut Client, database: u32, names: &mut Names) -> Result<(), Error> {
    let sql = "SELECT pg_relation_filenode(c.oid), \
                      CASE c.reltablespace WHEN 0 THEN d.dattablespace ELSE c.reltablespace END, \
                      c.relisshared, c.relkind::text, \
                      coalesce('of ' || o.oid::regclass::text, \
                               quote_ident(n.nspname) || '.' || quote_ident(c.relname)) \
                 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                 JOIN pg_database d ON d.datname = current_database() \
                 LEFT JOIN pg_class o ON c.relkind = 't' AND o.reltoastrelid = c.oid \
                WHERE pg_relation_filenode(c.oid) IS NOT NULL";
    let rows = client.query(sql, &[]);
    for row in rows.map_err(error::client("asking for names of relations"))? {
        let is_shared: bool = row.get(2);
        let file = RelationFile {
            filenode: row.get(0),
            tablespace: row.get(1),
            database: if is_shared { 0 } else { database },
        };
        let kind: String = row.get(3);
        let word = KINDS.iter().find(|(letter, _)| *letter == kind);
        let name = Name {
            name: row.get(4),
            kind: word.map_or("relation", |(_, word)| word),
        };
        names.of_files.insert(file, name);
    }
    Ok(())
}
