//! The experiments shipped with numalab; the files also serve as examples.

use super::experiment::Definition;
use super::vocabulary::nearest;
use crate::Error;
use crate::error::quoted;

/// An experiment shipped with numalab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shipped {
    /// Its name.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
}

impl Shipped {
    /// Parses the file. A test parses every shipped file, so an error here is a bug in numalab.
    pub fn definition(&self) -> Result<Definition, Error> {
        Definition::parse(&format!("{}.toml", self.name), self.text)
    }
}

/// The table of shipped experiments.
pub const SHIPPED: &[Shipped] = &[
    Shipped {
        name: "binding-vs-caging",
        text: include_str!("../../experiments/binding-vs-caging.toml"),
    },
    Shipped {
        name: "huge-pages",
        text: include_str!("../../experiments/huge-pages.toml"),
    },
    Shipped {
        name: "local-vs-remote",
        text: include_str!("../../experiments/local-vs-remote.toml"),
    },
    Shipped {
        name: "mariadb-binding-vs-quota",
        text: include_str!("../../experiments/mariadb-binding-vs-quota.toml"),
    },
    Shipped {
        name: "mariadb-huge-pages",
        text: include_str!("../../experiments/mariadb-huge-pages.toml"),
    },
    Shipped {
        name: "mariadb-interleave",
        text: include_str!("../../experiments/mariadb-interleave.toml"),
    },
    Shipped {
        name: "mariadb-local-vs-remote",
        text: include_str!("../../experiments/mariadb-local-vs-remote.toml"),
    },
    Shipped {
        name: "memory-hammer",
        text: include_str!("../../experiments/memory-hammer.toml"),
    },
    Shipped {
        name: "numa-vs-suma",
        text: include_str!("../../experiments/numa-vs-suma.toml"),
    },
    Shipped {
        name: "parallel-scan",
        text: include_str!("../../experiments/parallel-scan.toml"),
    },
    Shipped {
        name: "postgres-binding-vs-quota",
        text: include_str!("../../experiments/postgres-binding-vs-quota.toml"),
    },
    Shipped {
        name: "postgres-huge-pages",
        text: include_str!("../../experiments/postgres-huge-pages.toml"),
    },
    Shipped {
        name: "postgres-local-vs-remote",
        text: include_str!("../../experiments/postgres-local-vs-remote.toml"),
    },
    Shipped {
        name: "postgres-shared-buffers",
        text: include_str!("../../experiments/postgres-shared-buffers.toml"),
    },
    Shipped {
        name: "redis-io-threads",
        text: include_str!("../../experiments/redis-io-threads.toml"),
    },
    Shipped {
        name: "redis-local-vs-remote",
        text: include_str!("../../experiments/redis-local-vs-remote.toml"),
    },
    Shipped {
        name: "sga-allocation",
        text: include_str!("../../experiments/sga-allocation.toml"),
    },
    Shipped {
        name: "shm-fill",
        text: include_str!("../../experiments/shm-fill.toml"),
    },
    Shipped {
        name: "smt",
        text: include_str!("../../experiments/smt.toml"),
    },
    Shipped {
        name: "spin",
        text: include_str!("../../experiments/spin.toml"),
    },
    Shipped {
        name: "valkey-io-threads",
        text: include_str!("../../experiments/valkey-io-threads.toml"),
    },
    Shipped {
        name: "valkey-local-vs-remote",
        text: include_str!("../../experiments/valkey-local-vs-remote.toml"),
    },
    Shipped {
        name: "work-unit",
        text: include_str!("../../experiments/work-unit.toml"),
    },
];

/// Returns the shipped experiment with this name.
pub fn find(name: &str) -> Result<Definition, Error> {
    if let Some(shipped) = SHIPPED.iter().find(|shipped| shipped.name == name) {
        return shipped.definition();
    }
    let names = || SHIPPED.iter().map(|shipped| shipped.name);
    Err(Error::UnknownExperiment {
        name: quoted(name).trim_matches('"').to_owned(),
        known: names().collect::<Vec<_>>().join(", "),
        nearest: nearest(name, names()).map(str::to_owned),
    })
}
