//! PostgreSQL in the table of databases.

use model::ServerKind;

/// The database of this crate.
pub(crate) const KIND: ServerKind = ServerKind::named("postgres");
