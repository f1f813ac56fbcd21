//! The embedded database instance: processes that share an SGA. See docs/instance.md for an
//! overview.

mod block;
mod btree;
mod buffer_cache;
mod cage;
mod calibration;
mod checkpoint;
mod column_sum;
mod content;
mod coordinator;
mod emulated_cost;
mod error;
mod failure;
mod handicap;
mod held_counter;
mod histogram;
mod hold;
mod instance;
mod instance_process;
mod latch;
mod layout;
mod loader;
mod loads;
mod order;
mod own_memory;
mod process_name;
mod replacement;
mod results;
mod scan;
mod scan_worker;
mod scratch_segment;
mod series;
mod session;
mod session_process;
mod sessions;
mod sga;
mod sga_layout;
mod sga_memory;
#[cfg(test)]
mod small_sga;
mod snapshot;
mod statement;
mod storage;
mod trial;
mod turn_clock;
mod wait_clock;
mod windows;
mod writer;

pub use cage::QUANTUM_NS;
pub use coordinator::{Coordinator, Running};
pub use error::Error;
pub use held_counter::HeldCounter;
pub use instance_process::run as run_instance;
pub use layout::BLOCK_BYTES;
pub use order::{
    BlockWord, Commands, CostOrder, CostRow, InstanceCommand, InstanceOrder, InstanceReport,
    PhaseWord, Role, SessionOrder, Taken, Task, TicketWord, Turns, WindowReport,
};
pub use process_name::ProcessName;
pub use scratch_segment::{CHANGES, ScratchSegment};
pub use session_process::run as run_session;
pub use sga_layout::{SgaLayout, SgaSize};
