//! What an experiment asks for, apart from any machine: types, tables of words, reading of files.

mod experiment;
mod file;
mod keys;
mod load;
mod place;
mod quantity;
mod read;
mod reference;
mod sga;
mod shipped;
mod vocabulary;

pub use experiment::{
    CaseDefinition, Definition, ENGINES, Engine, MECHANISMS, MechanismChoice, Needs,
};
pub use keys::{KEYS, Key, Table};
pub use load::{CACHED, DataSize, STEALINGS, WORKS, WorkChoice};
pub use place::{CpuChoice, INHERITED, MemoryChoice, PLACES, Place, Symbol};
pub use quantity::{QUANTITIES, QUANTITY_MAX, Quantity, Scaled};
pub use reference::reference;
pub use sga::{
    ALLOCATIONS, AllocationChoice, AllocationKind, BACKINGS, BEYOND_CACHES, CACHE_BYTES_MAX,
    CACHE_BYTES_MIN, CacheSize,
};
pub use shipped::{SHIPPED, Shipped, find};
pub use vocabulary::Word;
