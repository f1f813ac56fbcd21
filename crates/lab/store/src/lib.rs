//! Keeps runs in one SQLite file: every trial durable once it has ended, every run readable later.
//!
//! docs/store.md documents the schema, the version rule and the choice of journal. Summaries are
//! neither stored nor computed here.
#![forbid(unsafe_code)]

mod document;
mod error;
mod live;
mod load;
mod lookup;
mod open;
mod record;
mod recorder;
mod schema;
mod stored;

pub use error::Error;
pub use open::Store;
pub use recorder::RunRecorder;
pub use stored::Stored;
