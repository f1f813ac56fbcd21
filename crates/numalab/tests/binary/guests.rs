//! Tests that run in guests only, one file per concept: what numalab does on real kernels with many
//! nodes, against the kernel's own files. `xtask/src/guest_tests/table.rs` lists which run in which
//! guest.

mod scripts;
