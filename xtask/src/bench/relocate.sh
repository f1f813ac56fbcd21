# Moves the same memory from node 0 to node 1 with numalab and with migratepages, in turns. Prints
# one line for each move: NAME PAGES CALLS NANOSECONDS.
rm -f /tmp/ready; mkfifo /tmp/ready
numactl --membind=0 /usr/bin/python3 /tmp/shared_memory.py 128 2 memfd /tmp/ready >/dev/null 2>&1 &
pid=$(cat /tmp/ready); child=$(ps -o pid= --ppid $pid)
on_one() { # prints the pages of the segment on node 1, as the kernel counts them
    grep memfd /proc/$pid/numa_maps | tr ' ' '\n' | sed -n 's/^N1=//p' | grep . || echo 0
}
for round in 1 2 3; do
    began=$(date +%s%N)
    numalab move $pid --to 1 --shared --json >/tmp/document
    calls=$(sed -n 's/.*"system_calls": \([0-9]*\).*/\1/p' /tmp/document)
    ended=$(date +%s%N)
    echo numalab $(on_one) $calls $((ended - began))
    numalab undo >/dev/null
    began=$(date +%s%N)
    migratepages $pid 0 1
    ended=$(date +%s%N)
    echo migratepages $(on_one) 1 $((ended - began))
    migratepages $pid 1 0
done
kill -9 $child $pid
