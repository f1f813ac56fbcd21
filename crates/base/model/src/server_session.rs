//! What a session of a database server does.

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
