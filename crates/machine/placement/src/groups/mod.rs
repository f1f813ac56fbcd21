//! Named, persistent processor groups (docs/placing.md): directly in the cgroup tree, or as systemd
//! slices where systemd owns it.

mod change;
mod changes;
mod controllers;
mod create;
mod delete;
mod list;
mod members;
mod membership;
mod name;

pub use change::{Set, add, find, set};
pub(crate) use changes::{GroupNamed, MemberMoved};
pub use create::{Order, create};
pub use delete::delete;
pub use list::{Group, list};
pub use members::members;
pub(crate) use members::{directory_of, named};
pub use membership::{Joined, Limit, join};
pub use name::GroupName;
