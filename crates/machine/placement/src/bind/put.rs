//! Applies an order to the calling process, and reverts it where numalab stays beside the program
//! that it has started.

use linux::mempolicy::{self, Policy};
use linux::{Root, SystemCallError, affinity};
use model::CpuSet;

use super::{BindError, Order};

/// What the kernel reports to be in force after an order was applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InForce {
    /// CPUs this thread may use.
    pub cpus: CpuSet,
    /// The policy in the words of numa_maps; `None` when it cannot be queried (seccomp).
    pub policy: Option<String>,
}

/// How this process was placed before.
#[derive(Debug)]
pub struct Saved {
    cpus: CpuSet,
}

impl Saved {
    /// Saves the placement of this process.
    ///
    /// # Errors
    /// Never on a kernel with at most 8192 CPUs.
    pub fn now() -> Result<Self, BindError> {
        let cpus = affinity::of_this_thread()?;
        Ok(Saved { cpus })
    }

    /// Restores the placement as far as the kernel allows. A failure leaves this process under the
    /// placement of the program, which does no harm.
    pub fn restore(&self) {
        let _ = affinity::bind_this_thread(&self.cpus);
        let _ = mempolicy::set_task_policy(&Policy::Default);
    }
}

/// Places the calling process; a program it executes, and children, inherit the placement.
///
/// # Errors
/// When the kernel refuses, with the reason.
pub fn apply(root: &Root, order: &Order) -> Result<InForce, BindError> {
    if let Some(cpus) = &order.cpus {
        affinity::bind_this_thread(cpus).map_err(|error| match error.errno() {
            Some(INVALID) => BindError::CpusForbidden { cpus: cpus.clone() },
            _ => refused(root, error),
        })?;
    }
    if let Some(policy) = &order.policy {
        mempolicy::set_task_policy(policy).map_err(|error| policy_error(root, policy, error))?;
    }
    let policy = mempolicy::task_policy().ok();
    Ok(InForce {
        cpus: affinity::of_this_thread()?,
        policy: policy.map(|(mode, nodes)| mempolicy::policy_words(mode, &nodes)),
    })
}

/// `EINVAL` and `ENOSYS` (errno(3)).
const INVALID: i32 = 22;
const NO_SUCH_CALL: i32 = 38;

fn policy_error(root: &Root, policy: &Policy, error: SystemCallError) -> BindError {
    let kernel = |what, needs| BindError::Kernel { what, needs };
    match (error.errno(), policy) {
        (Some(NO_SUCH_CALL), _) => kernel("memory policies", "needs CONFIG_NUMA"),
        (Some(INVALID), Policy::WeightedInterleave(_)) => {
            kernel("weighted interleaving", "needs Linux 6.9 or newer")
        }
        (Some(INVALID), Policy::PreferredMany(_)) => {
            kernel("preference for several nodes", "needs Linux 5.15 or newer")
        }
        (Some(INVALID), Policy::BindBalancing(_)) => {
            kernel("balancing under --membind", "needs Linux 5.12 or newer")
        }
        _ => refused(root, error),
    }
}

fn refused(root: &Root, error: SystemCallError) -> BindError {
    if !error.is_permission() {
        return BindError::SystemCall(error);
    }
    let filtered = linux::proc_status::has_seccomp_filter(root);
    let refuser = match filtered {
        Ok(true) => "the seccomp filter of this process (a container's) refuses it",
        _ => "a security module refuses it",
    };
    BindError::Refused { error, refuser }
}
