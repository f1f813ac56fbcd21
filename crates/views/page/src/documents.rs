//! Pages of the JSON documents that commands write. Documents come from others: whatever they hold,
//! there is a page or an error that names what is wrong.

mod balance;
mod bandwidth;
mod doctor;
mod document_page;
mod ends;
mod error;
mod findings;
mod first_touch;
mod frame;
mod guard;
mod latency;
mod matrix;
mod moving;
mod residency;
mod table;
mod top;
mod topology;

pub(crate) use bandwidth::read_bandwidth;
pub use document_page::{document_page, documents_page};
pub use error::Error;
pub(crate) use frame::{Content, framed, framed_parts};
pub(crate) use guard::checked_format;
pub(crate) use table::{ROWS_MAX, UNKNOWN, or_unknown, table};
pub(crate) use top::Top;
