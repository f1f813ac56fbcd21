//! Captured and described machines for the tests of other crates. Only ever a dev-dependency.
#![forbid(unsafe_code)]

mod any_text;
pub mod arm_machines;
pub mod article_machines;
mod error;
pub mod golden;
pub mod incomplete_machines;
pub mod machine;
pub mod not_run;
mod other_processors;
mod page;
pub mod reports;
pub mod tree;
pub mod unusual_machines;
pub mod variants;

pub use any_text::any_text;
pub use error::Error;
pub use machine::Machine;
pub use not_run::{Need, NotRun, not_run};
pub use page::Page;
pub use tree::Tree;
