//! Keeps runs in one SQLite file, or in PostgreSQL: every trial durable once it has ended, every
//! run readable later.
//!
//! docs/store.md documents the schema, the version rule and the choice of journal. Summaries are
//! neither stored nor computed here.
#![forbid(unsafe_code)]

mod database;
mod document;
mod error;
mod live;
mod load;
mod lookup;
mod machines;
mod open;
mod place;
mod record;
mod recorder;
mod schema;
mod stored;
mod transfer;

pub use error::Error;
pub use machines::{StoredFigures, StoredMachine};
pub use open::Store;
pub use place::Place;
pub use recorder::RunRecorder;
pub use stored::Stored;
pub use transfer::{Sent, StoredRun};
