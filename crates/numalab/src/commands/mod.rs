//! The commands, one file each.

pub mod bandwidth;
pub mod bind;
mod bind_scope;
mod bind_watch;
pub mod capture;
pub mod compare;
mod connected;
pub mod doctor;
pub mod explain;
pub mod group;
pub mod history;
pub mod hold;
pub mod import;
pub mod inspect;
pub mod internal;
pub mod latency;
pub mod list;
pub mod pages;
pub mod relocate;
pub mod run;
pub mod show;
pub mod topology;
pub mod undo;
