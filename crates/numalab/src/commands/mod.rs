//! The commands, one file each.

pub(crate) mod bandwidth;
pub(crate) mod bind;
mod bind_scope;
mod bind_watch;
pub(crate) mod capture;
pub(crate) mod compare;
mod connected;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod firmware;
pub(crate) mod group;
pub(crate) mod history;
pub(crate) mod hold;
pub(crate) mod import;
pub(crate) mod inspect;
pub(crate) mod internal;
pub(crate) mod latency;
pub(crate) mod list;
pub(crate) mod metrics;
pub(crate) mod pages;
pub(crate) mod relocate;
pub(crate) mod report_page;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod topology;
pub(crate) mod undo;
