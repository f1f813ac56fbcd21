//! What changes while one looks: nodes, pressure, processes and databases, taken at one moment as
//! cheaply as the kernel allows ([`model::Snapshot`]); rates and a forecast from several of them.
#![forbid(unsafe_code)]

mod change;
mod control_groups;
mod error;
mod events;
mod forecast;
mod growth;
mod held;
mod history;
mod instances;
mod levels;
mod looks;
mod lowest;
mod machine_files;
mod minute;
mod nearly_full;
mod node_files;
mod notice;
mod opened;
pub mod perfetto;
pub mod recording;
mod resource;
mod sampler;
mod users;

pub use change::{Change, HugePagesChange, NodeChange, ProcessChange};
pub use error::Error;
pub use events::Events;
pub use forecast::{Exhaustion, Forecast, HitInstance, WhyHit};
pub use growth::{Grower, Growth};
pub use history::History;
pub use levels::Growths;
pub use lowest::Lowest;
pub use minute::{Minute, NodeMinute, Points};
pub use nearly_full::{NearlyFull, NodeMemory, Room};
pub use notice::{NOTICES, Notice, Notices};
pub use opened::Attention;
pub use resource::{Resource, available};
pub use sampler::{Sampler, Scope};
