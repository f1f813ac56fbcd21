//! The databases whose servers numalab measures: a line for each that implements the door.

use std::collections::BTreeMap;

use journal::Journal;
use model::ServerKind;
use model::exit::ExitCode;
use postgresql::{Places, PostgreSql};
use server::{ConnectOrder, Connected, Database};
use valkey::Valkey;

use crate::failure::Failure;

/// Returns every database; PostgreSQL is looked for in `postgres`.
pub(crate) fn databases(postgres: Places) -> Vec<Box<dyn Database>> {
    vec![
        Box::new(mariadb::MariaDb {
            path: postgres.path.clone(),
        }),
        Box::new(Valkey::REDIS),
        Box::new(Valkey::VALKEY),
        // Takes every URL, so it is asked last.
        Box::new(PostgreSql { places: postgres }),
    ]
}

/// Returns the databases of which no server can be started, with why and what would help.
pub(crate) fn missing(postgres: Places) -> BTreeMap<ServerKind, String> {
    let databases = databases(postgres);
    let missing = databases.iter().map(|it| Some((it.kind(), it.missing()?)));
    missing.flatten().collect()
}

/// Connects to a running server of the database whose URL it is.
pub(crate) fn connect(
    order: &ConnectOrder,
    journal: &Journal,
) -> Result<Box<dyn Connected>, Failure> {
    let databases = databases(Places::default());
    let connected = databases.iter().find_map(|it| it.connect(order, journal));
    let unknown = || {
        Failure::new(
            ExitCode::Usage,
            "the URL does not name a supported database",
        )
    };
    Ok(connected.ok_or_else(unknown)??)
}

#[cfg(test)]
mod tests {
    use model::ServerKind;
    use postgresql::Places;

    use super::databases;

    #[test]
    fn every_database_of_the_table_is_measured() {
        let mut found: Vec<_> = databases(Places::default())
            .iter()
            .map(|it| it.kind())
            .collect();
        found.sort();
        let mut expected: Vec<_> = ServerKind::all().collect();
        expected.sort();
        assert_eq!(found, expected);
    }
}
