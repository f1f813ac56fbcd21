//! Shows documents as pages to look at: one self-contained HTML file, readable without script.
//! Nothing here measures, judges or prints.
#![forbid(unsafe_code)]

mod documents;
mod fleet;
mod pictures;
mod runs;

pub use documents::{Error, document_page, documents_page};
pub use fleet::fleet_page;
pub use pictures::*;
pub use runs::{comparison_page, run_page, run_page_with_load};
