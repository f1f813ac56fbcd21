# Functions for the checks that move memory; the program shared_memory.py is in /tmp.

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
    # Its memory is free once it has no mappings any more.
    while grep -q . "/proc/$children/maps" 2>/dev/null; do sleep 0.1; done
    wait $pid 2>/dev/null
}
nodes() { # prints policy and pages by node of the held memory, as the kernel shows them
    grep -E 'memfd|anon_hugepage| anon=4096 ' /proc/$pid/numa_maps | tr ' ' '\n' |
        grep -E '^(N[0-9]+=|(default|prefer|bind|interleave))' | sort | tr '\n' ' ' | sed 's/ $//'
}
quiet() { # runs numalab behind $through for at most $limit seconds; prints its status, keeps
    # its output in /tmp/said
    timeout ${limit:-120} $through numalab "$@" >/tmp/said 2>&1; echo $?
}
until_at_work() { # waits until the journal says that numalab process $1 moves memory
    for attempt in $(seq 300); do
        numalab undo --list | grep -q "moved .* by process $1, still running" && return
        sleep 0.2
    done
    echo "process $1 has not begun to move"
}
