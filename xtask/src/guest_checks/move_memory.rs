//! `numalab move` on four nodes: shared and private memory, in small and huge pages, moves to every
//! kind of destination and back by `numalab undo`; a move is stopped, refused, resumed; and
//! impossible moves are refused before a page moves. The kernel says where the pages are
//! (`/proc/PID/numa_maps`), independently of numalab.

use anyhow::Result;

use super::check::{Answers, Check, Complaints, GuestCommand, shell};
use super::inspect::PROGRAM;
use crate::arguments::CgroupVersion;
use crate::guest::Shape;

/// The check.
pub(super) const CHECK: Check = Check {
    name: "move",
    applies_to: |shape| shape.name == "four-node-ring",
    cgroup: CgroupVersion::V2,
    seconds: 420,
    commands,
    judge,
};

/// The functions that the scripts share.
pub(super) const FUNCTIONS: &str = include_str!("moving.sh");

/// One script and the lines that it must print.
struct Part {
    name: &'static str,
    script: &'static str,
    lines: &'static str,
}

const PARTS: &[Part] = &[
    Part {
        name: "destinations",
        script: DESTINATIONS,
        lines: DESTINATIONS_LINES,
    },
    Part {
        name: "stopped and refused",
        script: STOPPED,
        lines: STOPPED_LINES,
    },
    Part {
        name: "shared page tables",
        script: SHARED_TABLES,
        lines: SHARED_TABLES_LINES,
    },
    Part {
        name: "no room",
        script: NO_ROOM,
        lines: NO_ROOM_LINES,
    },
];

/// Moves every kind of memory to every kind of destination and back. Each undo uses only the
/// journal.
const DESTINATIONS: &str = r#"
# The kernel would make larger pages of small ones behind everybody's back.
echo never >/sys/kernel/mm/transparent_hugepage/enabled
for node in 0 1 2 3; do
    echo 8 >/sys/devices/system/node/node$node/hugepages/hugepages-2048kB/nr_hugepages
done
for kind in memfd private memfd-huge private-huge; do
    start 16 $kind 2
    echo "$kind: $(nodes)"
    for to in interleave 1 spread=0:3,3:1 near-cpus; do
        status=$(quiet move $pid --to $to)
        moved=$(nodes)
        echo "$to: $status $moved; undo: $(quiet undo) $(nodes)"
    done
    stop
done
numalab undo --list
"#;

const DESTINATIONS_LINES: &str = "\
memfd: N0=4096 bind:0
interleave: 0 N0=1024 N1=1024 N2=1024 N3=1024 interleave:0-3; undo: 0 N0=4096 bind:0
1: 0 N1=4096 prefer:1; undo: 0 N0=4096 bind:0
spread=0:3,3:1: 0 N0=3072 N3=1024 interleave:0,3; undo: 0 N0=4096 bind:0
near-cpus: 0 N2=4096 prefer:2; undo: 0 N0=4096 bind:0
private: N0=4096 bind:0
interleave: 0 N0=1024 N1=1024 N2=1024 N3=1024 bind:0; undo: 0 N0=4096 bind:0
1: 0 N1=4096 bind:0; undo: 0 N0=4096 bind:0
spread=0:3,3:1: 0 N0=3072 N3=1024 bind:0; undo: 0 N0=4096 bind:0
near-cpus: 0 N2=4096 bind:0; undo: 0 N0=4096 bind:0
memfd-huge: N0=8 bind:0
interleave: 0 N0=2 N1=2 N2=2 N3=2 bind:0; undo: 0 N0=8 bind:0
1: 0 N1=8 bind:0; undo: 0 N0=8 bind:0
spread=0:3,3:1: 0 N0=6 N3=2 bind:0; undo: 0 N0=8 bind:0
near-cpus: 0 N2=8 bind:0; undo: 0 N0=8 bind:0
private-huge: N0=8 bind:0
interleave: 0 N0=2 N1=2 N2=2 N3=2 bind:0; undo: 0 N0=8 bind:0
1: 0 N1=8 bind:0; undo: 0 N0=8 bind:0
spread=0:3,3:1: 0 N0=6 N3=2 bind:0; undo: 0 N0=8 bind:0
near-cpus: 0 N2=8 bind:0; undo: 0 N0=8 bind:0
no changes in force
";

/// A slow move of 64 MiB (it would take a minute) blocks another move, is stopped by Ctrl-C, is
/// resumed, and loses its target; pages that another process has moved since are left alone.
const STOPPED: &str = r#"
on_one() { nodes | tr ' ' '\n' | sed -n 's/^N1=//p' | grep . || echo 0; }
start 64 memfd 2
echo "planned: $(quiet move $pid --to 1 --shared --dry-run) $(grep -c '64 MiB' /tmp/said) $(nodes)"
numalab move $pid --to 1 --shared --mib-per-s 1 >/tmp/first 2>&1 & first=$!
until_at_work $first
second=$(quiet move $pid --to 2 --shared)
echo "second: $second, names the first: $(grep -c "process $first has locked" /tmp/said)"
undo=$(quiet undo)
echo "undo meanwhile: $undo, names it: $(grep -c "process $first" /tmp/said)"
while [ "$(on_one)" -lt 4096 ]; do sleep 0.2; done
kill -INT $first; wait $first; status=$?
moved=$(on_one)
echo "stopped: $status, a part has moved: $((moved >= 4096 && moved < 16384 && moved % 4096 == 0))"
resumed=$(numalab move $pid --to 1 --shared --json | sed -n 's/.*"pages_moved": \([0-9]*\).*/\1/p')
echo "goes on with the rest: $((moved + resumed)) $(nodes)"
echo "again: $(numalab move $pid --to 1 --shared --json | grep '"bytes_moved"' | tr -d ' ,')"
echo "undo: $(quiet undo) $(nodes); twice: $(quiet undo)"

echo "to one: $(quiet move $pid --to 1 --shared) $(nodes)"
migratepages $pid 1 3; migratepages $children 1 3
others=$(quiet undo)
echo "moved by others: $others, said: $(grep -c 'another process has moved' /tmp/said) $(nodes)"
echo "force: $(quiet undo --force) $(nodes)"

# Small pages go back through processes that show them; where the kernel refuses that, through
# another or through our own mapping, which is process 0.
for refusal in "" :error=ESRCH:when=1 :error=EACCES:when=1; do
    quiet move $pid --to 1 --shared >/dev/null
    traced="strace -f -qq -o /tmp/calls -e trace=move_pages"
    through="$traced${refusal:+ -e inject=move_pages$refusal}"
    undone=$(quiet undo)
    through=
    first=$(sed -n 's/.*move_pages(\([0-9]*\),.*/\1/p' /tmp/calls | head -1)
    echo "refused$refusal: $(grep -c INJECTED /tmp/calls | sed 's/[1-9].*/yes/')," \
        "first through ours: $((first == 0)), undo: $undone $(nodes)"
done

numalab move $pid --to 1 --shared --mib-per-s 1 >/tmp/first 2>&1 & first=$!
until_at_work $first
stop
wait $first; echo "target ended: $?"
echo "undo: $(quiet undo)"
numalab undo --list
"#;

const STOPPED_LINES: &str = "\
planned: 0 1 N0=16384 bind:0
second: 4, names the first: 1
undo meanwhile: 4, names it: 1
stopped: 130, a part has moved: 1
goes on with the rest: 16384 N1=16384 prefer:1
again: \"bytes_moved\":0
undo: 0 N0=16384 bind:0; twice: 0
to one: 0 N1=16384 prefer:1
moved by others: 4, said: 1 N3=16384 bind:0
force: 0 N0=16384 bind:0
refused: 0, first through ours: 0, undo: 0 N0=16384 bind:0
refused:error=ESRCH:when=1: yes, first through ours: 0, undo: 0 N0=16384 bind:0
refused:error=EACCES:when=1: yes, first through ours: 0, undo: 0 N0=16384 bind:0
target ended: 8
undo: 0
no changes in force
";

/// Four processes share a page table of huge pages, a whole GiB of an object. When the kernel moves
/// one of its pages, all but one of them lose the table until they read again, also between the
/// calls for two nodes; that one may end, so that none shows the pages. numalab reaches them all
/// the same through its own mapping; where the kernel lacks the call for that, `undo` names them.
const SHARED_TABLES: &str = r#"
for node in 0 1 2 3; do
    echo 8 >/sys/devices/system/node/node$node/hugepages/hugepages-2048kB/nr_hugepages
done
hold() { # four processes hold pages of nodes 0 and 1; sets pid, all
    rm -f /tmp/ready; mkfifo /tmp/ready
    numactl --interleave=0-1 /usr/bin/python3 -c '
import ctypes, mmap, os, signal, time
file = os.memfd_create("numalab-check", os.MFD_HUGETLB | os.MFD_HUGE_2MB)
os.ftruncate(file, 2 << 30)
memory = mmap.mmap(file, 2 << 30, mmap.MAP_SHARED | 0x4000)  # MAP_NORESERVE
first = -ctypes.addressof(ctypes.c_char.from_buffer(memory)) % (1 << 30)
first += -first % (16 << 20)  # numalab looks at 16 MiB together
places = range(first, first + (16 << 20), 2 << 20)
def read(*_):
    for place in places: memory[place]
signal.signal(signal.SIGUSR1, read)
for place in places: memory[place] = 1
started, finished = os.pipe()
for _ in range(3):
    if os.fork() == 0:
        read(); os.write(finished, b"r"); time.sleep(3600); os._exit(0)
for _ in range(3): os.read(started, 1)
open("/tmp/ready", "w").close()
time.sleep(3600)' & pid=$!
    timeout 120 cat /tmp/ready
    all="$pid $(pgrep -P $pid)"
}
of_each() { # the pages of each process that are here, and of all after they read again
    for one in $all; do pid=$one nodes; echo; done | sort | uniq -c | tr -s ' ' | tr '\n' ';'
}
read_again() {
    kill -USR1 $all
    for one in $all; do
        for attempt in $(seq 100); do
            pages=$(pid=$one nodes | grep -o '=[0-9]*' | tr -d = | paste -sd+)
            [ $(($pages + 0)) = 8 ] && break
            sleep 0.1
        done
    done
}
end() { # ends this one of the processes
    kill -9 $1
    while grep -q . /proc/$1/maps 2>/dev/null; do sleep 0.1; done
    all=$(echo $all | tr ' ' '\n' | grep -vx $1)
}
end_the_one_that_shows() {
    for one in $all; do pid=$one nodes | grep -q N && break; done
    end $one
}
undo_and_read() {
    undone=$(quiet undo); read_again
    echo "undo: $undone, said: $(grep -c 'no process shows 16 MiB' /tmp/said),$(of_each)"
}
older="strace -f --seccomp-bpf -qq -o /dev/null -e trace=userfaultfd
    -e inject=userfaultfd:error=ENOSYS"
for through in "" "$older"; do
    hold
    echo "at first:$(of_each)"
    for to in $([ "$through" ] && echo spread=1:1,3:3 || echo interleave); do
        moved=$(quiet move $pid --to $to --shared)
        echo "$to: $moved,$(of_each)"
        read_again
        echo "read again:$(of_each)"
        undo_and_read
    done
    quiet move $pid --to 2 --shared >/dev/null
    end_the_one_that_shows
    echo "one has ended:$(of_each)"
    if [ -z "$through" ]; then
        set -- $all
        moved=$(quiet move $1 --to 3 --shared); read_again
        echo "pages that none shows: $moved,$(of_each)"
    fi
    undo_and_read
    undo_and_read
    if [ "$through" ]; then
        set -- $all
        quiet move $1 --to 2 --shared >/dev/null
        end_the_one_that_shows
        given_up=$(quiet undo --force)
        echo "given up: $given_up, said: $(grep -c '; 16 MiB .* stay$' /tmp/said)"
    fi
    kill -9 $all
done

# The process through which undo reaches pages ends after a call of undo for them, which may leave
# none that shows the rest: undo says so, unless all are back.
for call in 1 4 5; do
    hold
    through=
    quiet move $pid --to 2 --shared >/dev/null; read_again
    rm -f /tmp/calls
    strace -f -qq -o /tmp/calls -e trace=userfaultfd,move_pages -e signal=SIGSTOP \
        -e inject=userfaultfd:error=ENOSYS -e inject=move_pages:signal=SIGSTOP:when=$call \
        numalab undo >/tmp/said 2>&1 & tracer=$!
    until grep -q 'stopped by SIGSTOP' /tmp/calls 2>/dev/null; do
        kill -0 $tracer 2>/dev/null || break # undo needed fewer calls
        sleep 0.1
    done
    in_time=$(grep -c 'stopped by SIGSTOP' /tmp/calls)
    end $(sed -n 's/.*move_pages(\([0-9]*\),.*/\1/p' /tmp/calls | tail -1)
    pkill -CONT -P $tracer
    wait $tracer; undone=$?; read_again
    said=$(grep -c 'no process shows' /tmp/said)
    case "$undone $said$(of_each)" in
    "0 0 3 N0=4 N1=4 interleave:0-1;" | "4 1 3 "*) honest=yes ;;
    *) honest="no: $undone $said$(of_each)" ;;
    esac
    echo "ends after call $call, in time: $in_time, honest: $honest"
    undo_and_read
    kill -9 $all
done
numalab undo --list
"#;

const SHARED_TABLES_LINES: &str = "\
at first: 4 N0=4 N1=4 interleave:0-1;
interleave: 0, 1 N0=2 N1=2 N2=2 N3=2 interleave:0-1; 3 interleave:0-1;
read again: 4 N0=2 N1=2 N2=2 N3=2 interleave:0-1;
undo: 0, said: 0, 4 N0=4 N1=4 interleave:0-1;
one has ended: 3 interleave:0-1;
pages that none shows: 0, 3 N3=8 interleave:0-1;
undo: 0, said: 0, 3 N0=4 N1=4 interleave:0-1;
undo: 0, said: 0, 3 N0=4 N1=4 interleave:0-1;
at first: 4 N0=4 N1=4 interleave:0-1;
spread=1:1,3:3: 0, 1 N1=2 N3=6 interleave:0-1; 3 interleave:0-1;
read again: 4 N1=2 N3=6 interleave:0-1;
undo: 0, said: 0, 4 N0=4 N1=4 interleave:0-1;
one has ended: 3 interleave:0-1;
undo: 4, said: 1, 3 N2=8 interleave:0-1;
undo: 0, said: 0, 3 N0=4 N1=4 interleave:0-1;
given up: 0, said: 1
ends after call 1, in time: 1, honest: yes
undo: 0, said: 0, 3 N0=4 N1=4 interleave:0-1;
ends after call 4, in time: 1, honest: yes
undo: 0, said: 0, 3 N0=4 N1=4 interleave:0-1;
ends after call 5, in time: 1, honest: yes
undo: 0, said: 0, 3 N0=4 N1=4 interleave:0-1;
no changes in force
";

/// Nothing moves without enough room for small or huge pages, without privileges, or if a name does
/// not exist.
const NO_ROOM: &str = r#"
for node in 0 1 2 3; do
    echo 0 >/sys/devices/system/node/node$node/hugepages/hugepages-2048kB/nr_hugepages
done
numalab pages --set 0=8 >/dev/null
start 16 memfd-huge 2
refused=$(quiet move $pid --to 3 --shared)
echo "no huge pages: $refused, said: $(grep -c 'not enough memory on node 3' /tmp/said) $(nodes)"
echo "pool: $(quiet pages --set 3=8)"
moved=$(quiet move $pid --to 3 --shared)
echo "with a pool: $moved, policy left: $(grep -c 'new huge pages follow' /tmp/said)" \
    "$(nodes)"
echo "undo: $(quiet undo) $(nodes)"
stop
# Pages that were in use when their pool became smaller are gone by now.
numalab undo >/dev/null 2>&1
echo "pools: $(cat /sys/devices/system/node/node*/hugepages/hugepages-2048kB/nr_hugepages |
    tr '\n' ' ')"

# Node 3 is filled with files that cannot be given up, but for less than is asked for.
start 64 memfd 2
mkdir -p /tmp/full; mount -t tmpfs -o mpol=bind:3,size=1g tmpfs /tmp/full
free=$(awk '/MemFree/ { print $4 } /FilePages/ { print $4 } /Shmem:/ { print -$4 }' \
    /sys/devices/system/node/node3/meminfo | awk '{ sum += $1 } END { print sum }')
fallocate -l $((free - 40 * 1024))K /tmp/full/file
refused=$(quiet move $pid --to 3 --shared)
echo "no room: $refused, said: $(grep -c 'not enough memory on node 3' /tmp/said) $(nodes)"
rm /tmp/full/file; umount /tmp/full
through="setpriv --bounding-set=-sys_nice"
refused=$(quiet move $pid --to 1 --shared)
echo "no CAP_SYS_NICE: $refused, said: $(grep -c 'which needs CAP_SYS_NICE (EACCES)' /tmp/said)" \
    "$(nodes); undo: $(quiet undo)"
through="setpriv --reuid=65534 --regid=65534 --clear-groups env XDG_STATE_HOME=/tmp/nobody"
echo "nobody: $(quiet move $pid --to 1), said: $(grep -c 'CAP_SYS_PTRACE' /tmp/said) $(nodes)"
through=
echo "no node: $(quiet move $pid --to 99), no segment: $(quiet move $pid --to 1 --segment nothing)"
stop
echo "no process: $(quiet move $pid --to 1)"
numalab undo --list
"#;

const NO_ROOM_LINES: &str = "\
no huge pages: 3, said: 1 N0=8 bind:0
pool: 0
with a pool: 0, policy left: 1 N3=8 bind:0
undo: 0 N0=8 bind:0
pools: 0 0 0 0 
no room: 3, said: 1 N0=16384 bind:0
no CAP_SYS_NICE: 6, said: 1 N0=16384 prefer:1; undo: 0
nobody: 4, said: 1 N0=16384 bind:0
no node: 2, no segment: 2
no process: 2
no changes in force
";

fn commands(_: &Shape) -> Vec<GuestCommand> {
    let program = format!("cat >/tmp/shared_memory.py <<'END'\n{PROGRAM}\nEND");
    let mut commands = vec![shell("program", &program)];
    let scripts = PARTS.iter();
    commands.extend(scripts.map(|part| shell(part.name, &format!("{FUNCTIONS}{}", part.script))));
    commands
}

fn judge(_: &Shape, answers: &Answers, complaints: &mut Complaints) -> Result<()> {
    for part in PARTS {
        let said = answers.text(part.name)?;
        complaints.expect_lines(part.name, said, part.lines);
    }
    Ok(())
}
