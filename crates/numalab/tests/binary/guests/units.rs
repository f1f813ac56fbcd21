//! The units of `packaging/`, started by a systemd: their restrictions keep neither the server nor
//! the metrics from seeing the memory of another user's database.
//!
//! Tests of serve, live.

use super::scripts::BOOT_SYSTEMD;
use crate::laboratory::Laboratory;
use crate::redis_program::REDIS;
use crate::unmet_need::is_guest;

const SERVE: &str = include_str!("../../../../../packaging/numalab-serve.service");
const METRICS: &str = include_str!("../../../../../packaging/numalab-metrics.service");

/// Makes what packages would have made, where systemd and the units will see it. Credentials reach
/// a unit by a mount that spreads, as on any host.
const MOUNTS: &str = "\
mount --make-rshared /
mount -t tmpfs -o mode=755 tmpfs /var/lib
mkdir -p /var/lib/prometheus/node-exporter
(cat /etc/passwd; echo 'numalab:x:990:990::/var/lib/numalab:/usr/sbin/nologin') >passwd
(cat /etc/group; echo 'numalab:x:990:') >group
mount --bind passwd /etc/passwd
mount --bind group /etc/group
";
/// What prints [`LINES`] as a service of systemd.
const CHECK: &str = include_str!("units.sh");

const LINES: &str = "\
serve: active
user of the server: numalab
capabilities of the server: 0000000000080000
without the token: 401
with the token: 200
gaps of the server: 0
memory of the database: yes
a run of the server's user: yes
metrics: success
gaps of the metrics: 0
memory of the database: yes
";

#[test]
fn units_serve_and_write_what_root_would_see() {
    let name = "units_serve_and_write_what_root_would_see";
    if !is_guest(name, "four-node-ring") {
        return;
    }
    let laboratory = Laboratory::new();
    if REDIS.link_to_server(laboratory.folder(), name).is_none() {
        return;
    }
    laboratory.file("mounts.sh", MOUNTS);
    laboratory.file("check.sh", CHECK);
    laboratory.file("numalab-serve.service", SERVE);
    laboratory.file("numalab-metrics.service", METRICS);
    let finished = laboratory.script(BOOT_SYSTEMD).with_code(0);
    assert_eq!(finished.stdout, LINES, "{}", finished.stderr);
}
