//! What the server shows.

pub(crate) mod served_content;
pub(crate) mod served_token;
pub(crate) mod snapshot_document;
pub(crate) mod stored_figures;
