//! Lets the kernel's NUMA balancing at shared memory for a while (docs/balance.md).

mod balancer;
mod budget;
mod end;
pub(super) mod places;
mod plan;
mod watched;

pub use balancer::{BalanceLimits, Balanced, Course, balance};
pub use plan::{BalancePlan, BalanceSegment, plan_balance, survey_shared};
