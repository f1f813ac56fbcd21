//! Instances: which processes a user means, and what each of them does.

mod class;
mod error;
mod find;
mod postmaster;
mod resolved;
mod roles;
mod running;
mod serving;
mod target;

pub use class::{Role, class_of, role_of, server_of};
pub use error::InstanceError;
pub use find::{Member, find, server_process};
pub use resolved::resolved;
pub use roles::{Pattern, ROLES, RoleRow, Server};
pub use running::{Candidate, Database, databases, databases_of_machine};
pub use target::{Place, ServerTarget, Target, TargetError};
