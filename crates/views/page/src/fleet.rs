//! The page of machines that should be equal.

mod multiples;
mod page;

pub use page::fleet_page;
