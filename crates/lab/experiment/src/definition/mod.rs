//! Experiment definitions, independent of any machine: types, tables of words, file parsing.

mod command;
mod cost_table;
mod experiment;
mod file;
mod keys;
mod load;
mod place;
mod quantity;
mod read;
mod read_case;
mod read_value;
mod reference;
mod server_settings;
mod sga;
mod shipped;
mod vocabulary;

pub use command::CommandChoice;
pub use cost_table::{COST_EXPECTED, CostTable};
pub use experiment::{CaseDefinition, Definition, ENGINES, Engine, MechanismChoice, Needs};
pub use keys::{Key, Table};
pub use load::{DataSize, KernelChoice, WorkChoice, WorkUnit};
pub use place::{CpuChoice, CpuPair, MemoryChoice, Place, Symbol};
pub(crate) use quantity::QUANTITY_MAX;
pub use quantity::{Quantity, Scaled};
pub use reference::reference;
pub(crate) use server_settings::{ValuePart, value_parts};
pub use sga::{AllocationChoice, BEYOND_CACHES, CacheSize, PageSize};
pub use shipped::{SHIPPED, Shipped, find};
pub use vocabulary::Word;
