//! What `numalab doctor --keep` stores: what the doctor found, and what else identifies a machine
//! that is compared with others.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Diagnosis;

/// A stored diagnosis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptDiagnosis {
    /// The target, as the user named it; `None` if only the machine was examined.
    pub target: Option<String>,
    /// What the doctor said.
    pub diagnosis: Diagnosis,
    /// What the firmware and the kernel call the machine and themselves, by the names of the
    /// kernel: `product_name`, `bios_version`, `microcode`, …. What may not be read is missing.
    pub identity: BTreeMap<String, String>,
    /// Memory modules in slots, by size in bytes; `None` where the firmware's table may not be
    /// read.
    pub memory_modules: Option<BTreeMap<u64, u32>>,
}
