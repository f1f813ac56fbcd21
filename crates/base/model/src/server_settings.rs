//! What a running server says of its settings.

use std::collections::BTreeMap;

use crate::ServerKind;

/// The settings of a running server that matter for placement, as it reports them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// Which database it is.
    pub server: ServerKind,
    /// Its process.
    pub pid: u32,
    /// How it was asked, for evidence: `CONFIG GET`, `SHOW VARIABLES`.
    pub source: &'static str,
    /// The settings by name. One that the server does not know is missing.
    pub values: BTreeMap<String, String>,
}

impl ServerSettings {
    /// The value of a setting; `None` if it is unknown or empty.
    pub fn value(&self, name: &str) -> Option<&str> {
        let value = self.values.get(name)?.as_str();
        (!value.is_empty()).then_some(value)
    }
}

/// A session, as its server tells it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServerSession {
    /// Its process.
    pub pid: u32,
    /// Its role.
    pub user: String,
    /// Its database.
    pub database: String,
    /// What its program calls itself.
    pub application: String,
    /// What it does, such as `active` or `idle in transaction`.
    pub state: String,
    /// What it waits for, such as `Lock: transactionid`.
    pub wait: Option<String>,
    /// For how long it has been in this state, in seconds.
    pub state_s: Option<f64>,
    /// The start of its last statement.
    pub query: String,
}
