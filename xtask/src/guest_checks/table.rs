//! Every guest check.

use super::check::Check;
use super::{
    backported_kernel, balance, balance_kills, bandwidth, capabilities, doctor, group_systemd,
    inspect, inspect_instances, inspect_postgres, kills, latency, latency_trouble, local_vs_remote,
    mariadb_relations, move_memory, move_postgres, old_kernel, own_memory, pages, placements,
    placing, relations, residency, shape, streams, tests_of_binary, undo_beside_move, weights,
};

/// The checks of the whole test.
pub(super) const CHECKS: &[Check] = &[
    streams::CHECK,
    shape::CHECK,
    tests_of_binary::CHECK,
    inspect::CHECK,
    inspect_instances::CHECK,
    inspect_postgres::CHECK,
    doctor::CHECK,
    latency::CHECK,
    latency_trouble::CHECK,
    bandwidth::CHECK,
    local_vs_remote::CHECK,
    own_memory::CHECK,
    placements::CHECK_V2,
    placing::CHECK_V2,
    pages::CHECK,
    residency::CHECK,
    relations::CHECK,
    mariadb_relations::CHECK,
    weights::CHECK_WITHOUT,
];

/// The checks of the whole test that run on the newer kernel.
pub(super) const BACKPORTS_CHECKS: &[Check] = &[backported_kernel::CHECK, weights::CHECK];

/// Checks that run only on request (`cargo xtask test --only long`): with them, the whole test
/// would take more than its 35 minutes.
pub(super) const LONG_CHECKS: &[Check] = &[
    latency::CHECK_LONG,
    bandwidth::CHECK_LONG,
    residency::CHECK_LONG,
    placements::CHECK_V1,
    placing::CHECK_V1,
    capabilities::CHECK,
    move_memory::CHECK,
    move_postgres::CHECK,
    kills::CHECK,
    undo_beside_move::CHECK,
    balance::CHECK,
    balance_kills::CHECK,
    // The last of its boot: systemd mounts its own /tmp over the one with the home directory.
    group_systemd::CHECK,
];

/// The same on the newer kernel.
pub(super) const LONG_BACKPORTS_CHECKS: &[Check] = &[balance::CHECK];

/// The same on an older kernel than numalab asks for.
pub(super) const LONG_OLDSTABLE_CHECKS: &[Check] = &[old_kernel::CHECK];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::guest::SHAPES;

    #[test]
    fn answers_are_told_apart_by_name() {
        let all = || CHECKS.iter().chain(BACKPORTS_CHECKS).chain(LONG_CHECKS);
        let names: BTreeSet<_> = all().map(|check| check.name).collect();
        assert_eq!(names.len(), all().count());
        for check in all() {
            for shape in SHAPES.iter().filter(|shape| (check.applies_to)(shape)) {
                let commands = (check.commands)(shape);
                let names: BTreeSet<_> = commands.iter().map(|command| command.name).collect();
                assert_eq!(
                    names.len(),
                    commands.len(),
                    "{} on {}",
                    check.name,
                    shape.name
                );
            }
        }
    }
}
