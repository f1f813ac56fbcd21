//! Which node holds which table and index of a running server: the pages in its buffer pool, known
//! by their headers, joined with the location of the kernel's pages. Touches nothing that is not in
//! memory, and needs the server only for the names of indexes.

mod files;
mod look;
mod names;
mod page;
mod pool;

pub(crate) use look::relations;
