# Shared memory of small and of huge pages is moved and taken back; what cannot be is refused.
# Prints lines "NAME WORDS", which the check compares. What numa_maps says of the holder is the
# kernel's own evidence, beside numalab's.
say() { echo "$*"; }
start() { # MIB FILE: holds memory on node 0, and sets pid
    rm -f /tmp/ready; mkfifo /tmp/ready
    numactl --membind=0 /usr/bin/python3 /tmp/shared_memory.py $1 2 $2 /tmp/ready >/dev/null 2>&1 &
    pid=$(cat /tmp/ready)
}
stop() { kill -9 -- $(ps -o pid= --ppid $pid) $pid; wait; }
nodes() { # the policy and the pages by node of the holder's segment
    grep memfd /proc/$pid/numa_maps | tr ' ' '\n' |
        grep -E '^(N[0-9]+=|(default|prefer|bind|interleave))' | sort | tr '\n' ' '
}
until_at_work() { # waits until numalab number $1 has said in the journal that it moves memory
    until numalab undo --list | grep -q "moved .* by process $1, which runs"; do sleep 0.2; done
}
quiet() { numalab "$@" >/tmp/said 2>&1; echo $?; }

start 16 memfd
say before $(nodes)
say plan-status $(quiet move $pid --to interleave --shared --dry-run)
say planned $(nodes)
say move-status $(quiet move $pid --to interleave --shared)
say moved $(nodes)
say again $(numalab move $pid --to interleave --shared --json | grep '"bytes_moved"' | tr -d ' ,')
say undo-status $(quiet undo)
say undone $(nodes)
say undo-again-status $(quiet undo)

numalab move $pid --to 1 --shared --mib-per-s 1 >/tmp/first 2>&1 & first=$!
until_at_work $first
say second-status $(quiet move $pid --to 2 --shared)
say second-names $(grep -c "process $first is at work" /tmp/said)
kill -INT $first; wait $first; say interrupted-status $?
say undo-of-interrupted-status $(quiet undo)
say undone-again $(nodes)

numalab move $pid --to 1 --shared >/dev/null 2>&1
moved_by=$(ps -o pid= --ppid $pid)
say moved-to-one $(nodes)
migratepages $pid 1 3; migratepages $moved_by 1 3
say moved-by-somebody-else-status $(quiet undo)
say named $(grep -c 'somebody else has moved' /tmp/said)
say force-status $(quiet undo --force)
say forced $(nodes)
say no-node-status $(quiet move $pid --to 99)
say no-segment-status $(quiet move $pid --to 1 --segment nothing)
stop
say no-process-status $(quiet move $pid --to 1)

numalab pages --set 0=8 >/dev/null
start 16 memfd-huge
say huge-before $(nodes)
say huge-no-room-status $(quiet move $pid --to 3 --shared)
say huge-still $(nodes)
numalab pages --set 3=8 >/dev/null
say huge-status $(quiet move $pid --to 3 --shared)
say huge-notes $(grep -c 'from outside no other can be set' /tmp/said)
say huge-moved $(nodes)
say huge-undo-status $(quiet undo)
say huge-undone $(nodes)
stop
# Pages that were in use when their pool became smaller are gone by now.
numalab undo >/dev/null 2>&1
say pools $(cat /sys/devices/system/node/node*/hugepages/hugepages-2048kB/nr_hugepages)

start 16 memfd
numalab move $pid --to 1 --shared --mib-per-s 1 >/tmp/first 2>&1 & first=$!
until_at_work $first
kill -9 -- $(ps -o pid= --ppid $pid) $pid
wait $first; say ended-status $?
say ended-undo-status $(quiet undo)
say list $(numalab undo --list)
