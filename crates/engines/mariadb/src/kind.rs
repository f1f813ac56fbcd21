//! MariaDB in the table of databases.

use model::ServerKind;

/// The database of this crate.
pub(crate) const KIND: ServerKind = ServerKind::named("mariadb");
/// The name of the server's program, which is that of its process.
pub(crate) const PROGRAM: &str = "mariadbd";
