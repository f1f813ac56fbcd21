//! PostgreSQL as one of the databases that numalab measures.

use std::path::Path;

use journal::Journal;
use model::ServerKind;
use residency::instances::Target;
use server::{ConnectOrder, Connected, Database, Error, WorkCounters};

use crate::cluster::Cluster;
use crate::connected::ConnectedServer;
use crate::kind::KIND;
use crate::{Places, installation, work};

/// PostgreSQL, found in some places.
#[derive(Clone, Debug)]
pub struct PostgreSql {
    /// Where to look for it when it is first needed.
    pub places: Places,
}

impl Database for PostgreSql {
    fn kind(&self) -> ServerKind {
        KIND
    }

    fn missing(&self) -> Option<String> {
        if self.places.release.is_some() {
            // One is fetched for the run.
            return None;
        }
        let reason = installation::find(&self.places).err()?;
        Some(format!(
            "{reason}; install it (Debian: apt-get install postgresql), or name its bin directory \
             with --pg-bin"
        ))
    }

    fn create(&self, folder: &Path, journal: &Journal) -> Result<Box<dyn server::Cluster>, Error> {
        Ok(Box::new(Cluster::create(&self.places, folder, journal)?))
    }

    /// Takes every URL: libpq's list of settings has no form of its own.
    fn connect(
        &self,
        order: &ConnectOrder,
        journal: &Journal,
    ) -> Option<Result<Box<dyn Connected>, Error>> {
        let server = ConnectedServer::open(order, journal);
        Some(server.map(|server| Box::new(server) as Box<dyn Connected>))
    }

    fn work(
        &self,
        target: &Target,
        _pid: u32,
        role: Option<&str>,
    ) -> Option<Result<Box<dyn WorkCounters>, Error>> {
        let Target::Postgres(data) = target else {
            return None;
        };
        Some(work::connect(Path::new(data), role))
    }
}

#[cfg(test)]
mod tests {
    use server::Database;

    use super::PostgreSql;
    use crate::Places;

    #[test]
    fn what_is_missing_can_be_installed_named_or_fetched() {
        let nowhere = Places {
            path: Some("/nowhere".into()),
            named: Some("/nowhere".into()),
            ..Places::default()
        };
        let missing = PostgreSql {
            places: nowhere.clone(),
        };
        let advice = missing.missing().unwrap();
        assert!(advice.contains("--pg-bin"), "{advice}");
        let fetched = Places {
            release: Some("18".parse().unwrap()),
            ..nowhere
        };
        assert_eq!(PostgreSql { places: fetched }.missing(), None);
    }
}
