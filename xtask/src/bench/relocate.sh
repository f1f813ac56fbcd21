# Moves the same memory from node 0 to node 1 with numalab and with migratepages, in turns; who is
# first changes. Prints one line for each move: NAME CASE PAGES CALLS NANOSECONDS.
on_one() { # prints the pages of the segment on node 1, as the kernel counts them
    grep memfd /proc/$pid/numa_maps | tr ' ' '\n' | sed -n 's/^N1=//p' | grep . || echo 0
}
by_numalab() {
    began=$(date +%s%N)
    numalab move $pid --to 1 --shared --json >/tmp/document
    ended=$(date +%s%N)
    calls=$(sed -n 's/.*"system_calls": \([0-9]*\).*/\1/p' /tmp/document)
    echo numalab $1 $(on_one) $calls $((ended - began))
    numalab undo >/dev/null
}
by_migratepages() {
    began=$(date +%s%N)
    migratepages $pid 0 1
    ended=$(date +%s%N)
    echo migratepages $1 $(on_one) 1 $((ended - began))
    migratepages $pid 1 0
}
rounds() { # CASE MIB PROCESSES KIND
    rm -f /tmp/ready; mkfifo /tmp/ready
    numactl --membind=0 /usr/bin/python3 /tmp/shared_memory.py $2 $3 $4 /tmp/ready >/dev/null 2>&1 &
    pid=$(cat /tmp/ready); children=$(ps -o pid= --ppid $pid)
    for round in 1 2 3 4 5 6 7; do
        case $((round % 2)) in
            0) by_numalab $1; by_migratepages $1 ;;
            1) by_migratepages $1; by_numalab $1 ;;
        esac
    done
    kill -9 $children $pid
    wait
}
rounds 4KiB-in-2 256 2 memfd
rounds 4KiB-in-20 128 20 memfd
for node in 0 1; do
    echo 160 >/sys/devices/system/node/node$node/hugepages/hugepages-2048kB/nr_hugepages
done
rounds 2MiB-in-2 256 2 memfd-huge
