//! Experiment definitions, independent of any machine: types, tables of words, file parsing.

mod command;
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
mod sga;
mod shipped;
mod vocabulary;

pub use command::{CommandChoice, DIRECTIONS};
pub use experiment::{
    CaseDefinition, Definition, ENGINES, Engine, MECHANISMS, MechanismChoice, Needs,
};
pub use keys::{KEYS, Key, Table};
pub use load::{
    CACHED, CALIBRATED, DataSize, STEALINGS, WORK_UNIT_MAX, WORKS, WorkChoice, WorkUnit,
};
pub use place::{CPU_PAIRS, CpuChoice, CpuPair, INHERITED, MemoryChoice, PLACES, Place, Symbol};
pub use quantity::{QUANTITIES, QUANTITY_MAX, Quantity, Scaled};
pub use reference::reference;
pub use sga::{
    ALLOCATIONS, AllocationChoice, AllocationKind, BACKINGS, BEYOND_CACHES, CACHE_BYTES_MAX,
    CACHE_BYTES_MIN, CacheSize,
};
pub use shipped::{SHIPPED, Shipped, find};
pub use vocabulary::Word;
