# Reads random pages of a segment on node 0 from two sessions on node 1, while nothing moves, and
# while numalab, migratepages and the kernel's balancing bring it to node 1, in turns; who is first
# changes. Prints for each: NAME PAGES MILLISECONDS, and of each session: READS P99 P999 LONGEST.
segment=/dev/shm/numalab-stall
on_one() { # prints the pages of the segment on node 1, as the kernel counts them
    grep numalab-stall /proc/$pid/numa_maps | tr ' ' '\n' | sed -n 's/^N1=//p' | grep . || echo 0
}
answers() { # has both sessions say what they read since the last time, on one line
    lines=$(cat /tmp/reads.1 /tmp/reads.2 | wc -l)
    kill -USR1 $readers
    while [ $(cat /tmp/reads.1 /tmp/reads.2 | wc -l) -lt $((lines + 2)) ]; do sleep 0.1; done
    echo $(tail -qn 1 /tmp/reads.1 /tmp/reads.2)
}
beside() { # NAME COMMAND...
    name=$1; shift
    answers >/dev/null
    began=$(date +%s%N)
    "$@" >/tmp/said 2>&1 || cat /tmp/said >&2
    ended=$(date +%s%N)
    said=$(answers)
    echo $name $(on_one) $(((ended - began) / 1000000)) $said
}
back() { numalab undo >/dev/null 2>&1; migratepages $pid 1 0; }
nothing() { beside nothing sleep 3; }
by_numalab() { beside numalab numalab move $pid --to 1 --shared; back; }
by_migratepages() { beside migratepages migratepages $pid 0 1; back; }
by_balancing() { beside balancing numalab balance $pid --for 20; back; }
# A session that had its pages near to it in the round before would be scanned after up to 60 s.
mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
echo 5000 >/sys/kernel/debug/sched/numa_balancing/scan_period_max_ms || exit 1
numactl --membind=0 page_holder MIB 1 $segment /tmp/ready &
while ! [ -s /tmp/ready ]; do sleep 0.1; done
pid=$(cat /tmp/ready)
for reader in 1 2; do
    numactl --cpunodebind=1 page_reader $segment $reader >/tmp/reads.$reader &
    readers="$readers $!"
done
sleep 2
for round in 1 2 3 4 5; do
    case $((round % 2)) in
        0) nothing; by_numalab; by_migratepages; by_balancing ;;
        1) by_balancing; by_migratepages; by_numalab; nothing ;;
    esac
done
kill -9 $readers $pid
