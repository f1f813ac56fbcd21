//! `numalab pages` on four nodes: pools by node are set, reported with the number reached if they
//! fall short, and restored; the needs of an SGA are computed; the policy of a tmpfs is shown, set
//! and restored, and files created since lie where it says.

use anyhow::Result;

use super::check::{Answers, Check, Complaints, GuestCommand, shell};
use super::move_memory::FUNCTIONS;
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check.
pub(super) const CHECK: Check = Check {
    name: "pages",
    applies_to: |shape| shape.name == "four-node-ring",
    cgroup: CgroupVersion::V2,
    seconds: 400,
    commands,
    judge,
};

const NAME: &str = "pools and mounts";

const SCRIPT: &str = r#"
pools() {
    cat /sys/devices/system/node/node*/hugepages/hugepages-2048kB/nr_hugepages | tr '\n' ' '
}
for node in 0 1 2 3; do
    echo 0 >/sys/devices/system/node/node$node/hugepages/hugepages-2048kB/nr_hugepages
done
echo "for 64M: $(quiet pages --for 64M --placement interleave=0-1)"
grep -o ' --set 0=16,1=16' /tmp/said
echo "set: $(quiet pages --set 0=4,3=2) $(pools)"
# One less than all of its memory, of which the kernel has some itself.
all=$(($(awk '/MemTotal/ { print $4 }' /sys/devices/system/node/node2/meminfo) / 2048 - 1))
# The kernel would reclaim the page cache of earlier checks page by page, which takes minutes; even
# so it took over two minutes once, in a guest that had run other checks, beside two builds.
sync; echo 3 >/proc/sys/vm/drop_caches
short=$(limit=400 quiet pages --set 2=$all)
reached=$(cat /sys/devices/system/node/node2/hugepages/hugepages-2048kB/nr_hugepages)
echo "short: $short, some: $((reached > 0 && reached < all))," \
    "said: $(($(grep -c "node 2: .*$reached of $all" /tmp/said) > 0))"
echo "undo: $(quiet undo) $(pools)"

mpol() { sed -n 's#^tmpfs /tmp/mounted .*\(mpol=[^ ,]*\(,[0-9][^ ,]*\)*\).*#\1#p' /proc/mounts; }
mkdir /tmp/mounted; mount -t tmpfs -o size=64m,mpol=bind:1 tmpfs /tmp/mounted
shown=$(quiet pages --tmpfs /tmp/mounted)
echo "mount: $shown, said: $(grep -c 'memory policy bind:1' /tmp/said)"
echo "set: $(quiet pages --tmpfs /tmp/mounted --mpol interleave:2-3) $(mpol)"
dd if=/dev/zero of=/tmp/mounted/file bs=1M count=16 2>/dev/null
# Who maps a file shows where its pages are.
rm -f /tmp/ready; mkfifo /tmp/ready
/usr/bin/python3 -c 'import mmap, time
file = open("/tmp/mounted/file", "r+b"); memory = mmap.mmap(file.fileno(), 0)
for at in range(0, 16 << 20, 4096): memory[at]
open("/tmp/ready", "w").close(); time.sleep(3600)' & pid=$!
timeout 120 cat /tmp/ready
echo "file: $(grep /tmp/mounted/file /proc/$pid/numa_maps | grep -oE ' N[0-9]+=[0-9]+' | sort |
    tr -d '\n')"
kill -9 $pid; wait $pid 2>/dev/null
echo "undo: $(quiet undo) $(mpol)"
echo "none: $(quiet pages --tmpfs /tmp/none --mpol local)," \
    "no node: $(quiet pages --tmpfs /tmp/mounted --mpol bind:9) $(mpol)"
rm /tmp/mounted/file; umount /tmp/mounted
numalab undo --list
"#;

const LINES: &str = "\
for 64M: 0
 --set 0=16,1=16
set: 0 4 0 0 2 
short: 3, some: 1, said: 1
undo: 0 0 0 0 0 
mount: 0, said: 1
set: 0 mpol=interleave:2-3
file:  N2=2048 N3=2048
undo: 0 mpol=bind:1
none: 2, no node: 2 mpol=bind:1
no changes in force
";

fn commands(_: &Shape) -> Vec<GuestCommand> {
    vec![shell(NAME, &format!("{FUNCTIONS}{SCRIPT}"))]
}

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    complaints.expect_lines(NAME, answers.text(NAME)?, LINES);
    Ok(())
}
