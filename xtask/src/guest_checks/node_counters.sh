# Functions for scripts that compare what numalab finds with what the kernel counts.
#
# Write to $ram meanwhile, a ramfs, whose pages the kernel does not count as shared memory, as it
# does those of the guest's other file systems.
ram=/tmp/ram
mountpoint -q $ram || { mkdir -p $ram && mount -t ramfs none $ram && chmod 1777 $ram; } || exit 1
export XDG_STATE_HOME=$ram/state

# state: prints Shmem of each node in kB, and the free pages of each, including those on per-CPU
# lists, as the inside of a JSON object. First makes every CPU flush its counters: the kernel
# otherwise adds them up only once a second, and shows a node without them until then (mm/vmstat.c).
state() {
    echo 1 >/proc/sys/vm/stat_refresh
    awk '/Shmem:/ { printf "%s%s", s, $4; s = "," } BEGIN { printf "\"shmem\":[" }' \
        /sys/devices/system/node/node*/meminfo
    awk '/^Node/ { node = $2 + 0; if (node > last) last = node }
         $1 == "pages" && $2 == "free" { free[node] += $3 }
         $1 == "count:" { free[node] += $2 }
         END { printf "],\"free_pages\":["
               for (node = 0; node <= last; node++) printf "%s%d", node ? "," : "", free[node]
               print "]" }' /proc/zoneinfo
}

# look NAME TARGET: prints what numalab finds, with the states before and after it, as the member
# NAME of a JSON object. Looks again, up to a hundred times, if shared memory changed meanwhile, as
# that of a newly started server does.
look() {
    looks=0
    while [ $((looks += 1)) -le 100 ]; do
        during=$(state)
        residency=$(numalab inspect "$2" --json) || exit 1
        after=$(state)
        [ "${during%%]*}" = "${after%%]*}" ] && break
    done
    echo "\"$1\":{\"during\":{$during},\"after\":{$after},\"residency\":$residency}"
}

# end_family PID: ends the process and its children; returns once all have freed their memory.
end_family() {
    family="$(ps -o pid= --ppid "$1") $1"
    kill -- $family
    for one in $family; do
        waits=0
        while [ -d "/proc/$one" ] && ! grep -qs '^State:.Z' "/proc/$one/status"; do
            [ $((waits += 1)) -le 1200 ] || { echo "process $one does not end" >&2; exit 1; }
            sleep 0.05
        done
    done
}
