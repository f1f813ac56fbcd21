//! The page of one or several runs: the verdict first, then the figures, then what they rest on.

mod comparison;
mod page;
#[cfg(test)]
pub(crate) mod samples;

pub use comparison::comparison_page;
pub use page::{run_page, run_page_with_load};
