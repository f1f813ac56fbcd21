# Moves the same memory from node 0 to node 1 and back with numalab and with migratepages, in turns;
# who is first changes. Prints one line for each move: NAME CASE PAGES CALLS NANOSECONDS PAGES-BACK
# NANOSECONDS-BACK.

# At random addresses, an emulator translates all code of a program again each time that it starts.
echo 0 >/proc/sys/kernel/randomize_va_space
pages() { # NODES PID...: prints how many pages of the segment each has mapped on these nodes
    on="^N[$1]="; shift
    for one in "$@"; do
        awk -v on="$on" '/memfd/ { for (word = 3; word <= NF; word++)
                                       if (sub(on, "", $word)) sum += $word }
                         END { print sum + 0 }' /proc/$one/numa_maps
    done
}
read_again() { # PID PAGES: moving huge pages takes them out of page tables that processes share
    [ $kind = memfd-huge ] || return 0
    holders="$1 $(pgrep -P $1)"
    kill -USR1 $holders
    while pages 01 $holders | grep -qvx $2; do sleep 0.1; done
}
timed() { # COMMAND...: puts its nanoseconds into $took
    began=$(date +%s%N)
    "$@" >/tmp/document
    ended=$(date +%s%N)
    took=$((ended - began))
}
by_numalab() {
    read_again $pid $all
    timed numalab move $pid --to 1 --shared --json
    calls=$(sed -n 's/.*"system_calls": \([0-9]*\).*/\1/p' /tmp/document)
    read_again $pid $all
    there="$(pages 1 $pid) $calls $took"
    timed numalab undo
    read_again $pid $all
    echo numalab $1 $there "$(pages 0 $pid)" $took
}
by_migratepages() {
    read_again $pid $all
    timed migratepages $pid 0 1
    read_again $pid $all
    there="$(pages 1 $pid) 1 $took"
    timed migratepages $pid 1 0
    read_again $pid $all
    echo migratepages $1 $there "$(pages 0 $pid)" $took
}
rounds() { # CASE MIB PROCESSES KIND COUNT
    kind=$4
    if [ $kind = memfd-huge ]; then
        for node in 0 1; do
            pool=/sys/devices/system/node/node$node/hugepages/hugepages-2048kB/nr_hugepages
            echo $(($2 / 2 + 40)) >$pool
        done
    fi
    mkfifo /tmp/ready
    numactl --membind=0 page_holder $2 $3 $kind /tmp/ready &
    pid=$(timeout 120 cat /tmp/ready)
    [ -n "$pid" ] || { echo "the program that holds memory does not start" >&2; exit 1; }
    all=$(pages 01 $pid)
    # Once untimed: with nothing to move, and the programs come into the file cache.
    numalab move $pid --to 0 --shared >/tmp/document
    migratepages $pid 1 0
    for round in $(seq $5); do
        case $((round % 2)) in
            0) by_numalab $1; by_migratepages $1 ;;
            1) by_migratepages $1; by_numalab $1 ;;
        esac
    done
}
