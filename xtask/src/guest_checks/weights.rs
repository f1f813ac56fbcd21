//! Weights of interleaving: set from bandwidths, followed by memory that is moved and by memory
//! that is allocated later, and taken back, also after kills. The kernel's own files say what is in
//! force. On a kernel without weights, both commands say so and change nothing.

use anyhow::Result;

use super::check::{Answers, Check, Complaints, GuestCommand, shell};
use super::inspect::PROGRAM;
use super::move_memory::FUNCTIONS;
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check on a kernel with weights.
pub(super) const CHECK: Check = Check {
    name: "weights",
    applies_to: |shape| shape.name == "two-node",
    cgroup: CgroupVersion::V2,
    seconds: 120,
    commands: |_| vec![script("weights", SCRIPT)],
    judge: |_, answers, complaints| judge("weights", LINES, answers, complaints),
};

/// The check on a kernel without them.
pub(super) const CHECK_WITHOUT: Check = Check {
    name: "no-weights",
    applies_to: |shape| shape.name == "two-node",
    cgroup: CgroupVersion::V2,
    seconds: 30,
    commands: |_: &Shape| vec![script("no-weights", WITHOUT)],
    judge: |_, answers, complaints| judge("no-weights", WITHOUT_LINES, answers, complaints),
};

fn script(name: &'static str, script: &str) -> GuestCommand {
    shell(
        name,
        &format!(
            "cat >/tmp/shared_memory.py <<'END'\n{PROGRAM}END\n{FUNCTIONS}\n{BANDWIDTH}\n{script}"
        ),
    )
}

/// What `numalab bandwidth --json` says of a machine with fast and slow memory, as far as it is
/// needed: 200 and 100 GB/s from node 0, and from node 1 the other way round.
const BANDWIDTH: &str = r#"
cat >/tmp/bandwidth.json <<'END'
{"format": "numalab.bandwidth/1", "cpu_nodes": [0, 1], "memory_nodes": [0, 1],
 "bytes_per_s": [[2e11, 1e11], [1e11, 2e11]]}
END
"#;

/// 12 MiB are 3072 pages: 2048 and 1024 by weights of 2 and 1.
const SCRIPT: &str = r#"
weights() { echo $(cat /sys/kernel/mm/mempolicy/weighted_interleave/node[01]); }
policy() { sed -nE 's/^[0-9a-f]+ (.*) file=.*memfd.*/\1/p' "$1"; }
pages() { grep memfd "$1" | grep -oE ' N[0-9]+=[0-9]+' | sort | tr -d '\n'; }
held() { echo "$(policy /proc/$pid/numa_maps)$(pages /proc/$pid/numa_maps)"; }
of_node_0="firmware --weights --from /tmp/bandwidth.json --cpu-nodes 0"
echo never >/sys/kernel/mm/transparent_hugepage/enabled

echo "before: $(weights)"
echo "shown: $(quiet $of_node_0) $(weights)"
echo "all CPUs: $(quiet firmware --weights --from /tmp/bandwidth.json --set) $(weights)"
echo "one node's CPUs: $(quiet $of_node_0 --set) $(weights)"
echo "again: $(quiet $of_node_0 --set), in force: $(grep -c 'in force already' /tmp/said)"
start 12 memfd 1
echo "held: $(held)"
echo "moved: $(quiet move $pid --to weighted-interleave --shared) $(held)"
quiet move $pid --to weighted-interleave --shared --json >/tmp/null
echo "again: $(grep '"bytes_moved"' /tmp/said | tr -d ' ,')"
echo "undo: $(quiet undo) $(held), weights $(weights)"

quiet $of_node_0 --set >/tmp/null
quiet move $pid --to weighted-interleave=0-1 --shared >/tmp/null
file=$(ls -l /proc/$pid/fd | sed -n 's|.* \([0-9]*\) -> /memfd.*|/proc/'$pid'/fd/\1|p' | head -n 1)
# Pages that exist no more are allocated again, by another process than the one that had them.
fallocate --punch-hole --offset 0 --length 12MiB $file
dd if=/dev/zero of=$file bs=1M count=12 conv=notrunc status=none
numactl --membind=1 python3 -c "
import mmap
with open('$file', 'r+b') as file:
    memory = mmap.mmap(file.fileno(), 0)
    for at in range(0, len(memory), 4096): memory[at]
    print(open('/proc/self/numa_maps').read())
" >/tmp/later
echo "later pages: $(policy /tmp/later)$(pages /tmp/later)"
stop
quiet undo >/tmp/null
echo "undo: $(weights)"

quiet $of_node_0 --set >/tmp/null
echo 9 >/sys/kernel/mm/mempolicy/weighted_interleave/node1
refused=$(quiet undo)
echo "another's: $refused, named: $(grep -c 'weight of node 1 to 9 since' /tmp/said) $(weights)"
echo "force: $(quiet undo --force) $(weights)"

nobody() { # CAPABILITIES: runs the command as an ordinary user with these
    through="setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=$1 --ambient-caps=$1
        --bounding-set=$1 env XDG_STATE_HOME=/tmp/nobody"
}
mkdir -p /tmp/nobody; chown 65534:65534 /tmp/nobody
nobody -all
refused=$(quiet $of_node_0 --set)
echo "nobody: $refused, named: $(grep -q CAP_DAC_OVERRIDE /tmp/said && echo 1) $(weights)"
nobody -all,+dac_override
echo "with CAP_DAC_OVERRIDE: $(quiet $of_node_0 --set) $(weights); undo: $(quiet undo) $(weights)"
through=

for attempt in 1 2 3 4; do
    numalab $of_node_0 --set >/tmp/killed 2>&1 & killed=$!
    sleep 0.$((attempt * 2))
    kill -9 $killed 2>/tmp/null; wait $killed
    numalab undo >/tmp/said 2>&1
    [ "$(weights)" = "1 1" ] || echo "after a kill: $(weights)" "$(cat /tmp/said)"
done
numalab undo --list
"#;

const LINES: &str = "\
before: 1 1
shown: 0 1 1
all CPUs: 0 1 1
one node's CPUs: 0 2 1
again: 0, in force: 1
held: bind:0 N0=3072
moved: 0 weighted interleave:0-1 N0=2048 N1=1024
again: \"bytes_moved\":0
undo: 0 bind:0 N0=3072, weights 1 1
later pages: weighted interleave:0-1 N0=2048 N1=1024
undo: 1 1
another's: 4, named: 1 2 9
force: 0 1 1
nobody: 4, named: 1 1 1
with CAP_DAC_OVERRIDE: 0 2 1; undo: 0 1 1
no changes in force
";

const WITHOUT: &str = r#"
ls /sys/kernel/mm/mempolicy 2>&1 | grep -c weighted
start 4 memfd 1
echo "move: $(quiet move $pid --to weighted-interleave --shared)" \
    "$(grep -c 'needs Linux 6.9' /tmp/said) $(grep -c 'hint: ' /tmp/said) $(nodes)"
echo "set: $(quiet firmware --weights --from /tmp/bandwidth.json --cpu-nodes 0 --set)" \
    "$(grep -c 'needs Linux 6.9' /tmp/said) $(grep -c 'hint: ' /tmp/said)"
stop
numalab undo --list
"#;

const WITHOUT_LINES: &str = "\
0
move: 3 1 1 N0=1024 bind:0
set: 3 1 1
no changes in force
";

fn judge(name: &str, lines: &str, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    complaints.expect_lines(name, answers.text(name)?, lines);
    Ok(())
}
