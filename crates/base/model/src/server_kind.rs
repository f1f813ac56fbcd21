//! The databases whose servers numalab measures: one table, from which definitions, documents and
//! reports take their words.

use std::fmt::{self, Debug, Formatter};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A database.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerKind(&'static ServerFacts);

/// One row of the table of databases.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ServerFacts {
    /// Its name in definitions and documents.
    pub id: &'static str,
    /// Its name for people.
    pub name: &'static str,
    /// What its cache is called, a plural.
    pub cache: &'static str,
    /// Bytes of the cache that one row of the load takes.
    pub row_bytes: u64,
}

impl ServerKind {
    /// Every database, a line for each.
    pub const TABLE: &[ServerFacts] = &[
        // id, name, cache, row_bytes
        row("postgres", "PostgreSQL", "shared buffers", 8192),
        row("mariadb", "MariaDB", "buffer pool pages", 8192),
        row("redis", "Redis", "values", 4224),
        row("valkey", "Valkey", "values", 4224),
    ];

    /// The database with this id, for constants: an id that is not in the table does not compile.
    pub const fn named(id: &str) -> Self {
        let mut number = 0;
        while number < Self::TABLE.len() {
            if is_same(Self::TABLE[number].id, id) {
                return ServerKind(&Self::TABLE[number]);
            }
            number += 1;
        }
        panic!("the table has no such database")
    }

    /// Every database, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::TABLE.iter().map(ServerKind)
    }

    /// The database with this id.
    pub fn find(id: &str) -> Option<Self> {
        Self::all().find(|kind| kind.id() == id)
    }

    /// Its name in definitions and documents.
    pub const fn id(self) -> &'static str {
        self.0.id
    }

    /// Its name for people.
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// What its cache is called, a plural.
    pub const fn cache(self) -> &'static str {
        self.0.cache
    }

    /// Bytes of the cache that one row of the load takes.
    pub const fn row_bytes(self) -> u64 {
        self.0.row_bytes
    }
}

const fn row(
    id: &'static str,
    name: &'static str,
    cache: &'static str,
    row_bytes: u64,
) -> ServerFacts {
    ServerFacts {
        id,
        name,
        cache,
        row_bytes,
    }
}

/// Compares texts in constants, where `==` cannot.
const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

impl Debug for ServerKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl Serialize for ServerKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

impl<'de> Deserialize<'de> for ServerKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = String::deserialize(deserializer)?;
        Self::find(&id).ok_or_else(|| serde::de::Error::custom(format!("no database {id:?}")))
    }
}

#[cfg(test)]
mod tests {
    use super::ServerKind;

    #[test]
    fn every_database_is_found_by_its_id_alone() {
        for kind in ServerKind::all() {
            assert_eq!(ServerKind::find(kind.id()), Some(kind));
            assert_eq!(ServerKind::named(kind.id()), kind);
            let text = serde_json::to_value(kind).unwrap();
            assert_eq!(text, kind.id());
            assert_eq!(serde_json::from_value::<ServerKind>(text).unwrap(), kind);
            let same = ServerKind::all().filter(|other| other.id() == kind.id());
            assert_eq!(same.count(), 1);
        }
        assert_eq!(ServerKind::find("postgre"), None);
        assert_eq!(ServerKind::find("postgres2"), None);
    }
}
