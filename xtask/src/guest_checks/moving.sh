# Functions of the checks that move memory; the program shared_memory.py is in /tmp.

start() { # MIB FILE NODE: two processes on CPUs of NODE hold memory on node 0; sets pid, children
    rm -f /tmp/ready; mkfifo /tmp/ready
    numactl --membind=0 --cpunodebind="$3" /usr/bin/python3 /tmp/shared_memory.py "$1" 2 "$2" \
        /tmp/ready >/dev/null 2>&1 &
    pid=$(timeout 120 cat /tmp/ready)
    [ -n "$pid" ] || { echo "the program that holds memory does not start" >&2; exit 1; }
    children=$(ps -o pid= --ppid "$pid")
}
stop() {
    kill -9 $children $pid
    # What it had is free when it has no mappings any more.
    while grep -q . "/proc/$children/maps" 2>/dev/null; do sleep 0.1; done
    wait $pid 2>/dev/null
}
nodes() { # the policy and the pages by node of the memory that is held, by the kernel's word
    grep -E 'memfd|anon_hugepage| anon=4096 ' /proc/$pid/numa_maps | tr ' ' '\n' |
        grep -E '^(N[0-9]+=|(default|prefer|bind|interleave))' | sort | tr '\n' ' ' | sed 's/ $//'
}
quiet() { # numalab with these words, through $through; its status, and what it said in /tmp/said
    timeout 120 $through numalab "$@" >/tmp/said 2>&1; echo $?
}
until_at_work() { # waits until numalab number $1 has said in the journal that it moves memory
    for attempt in $(seq 300); do
        numalab undo --list | grep -q "moved .* by process $1, which runs" && return
        sleep 0.2
    done
    echo "process $1 has not begun to move"
}
