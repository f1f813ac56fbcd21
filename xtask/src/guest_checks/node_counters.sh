# Functions of scripts that compare what numalab finds with what the kernel counts.
#
# What is written meanwhile belongs into $ram, a ramfs, whose pages are no shared memory for the
# kernel's counters, as those of the guest's other file systems are.
ram=/tmp/ram
mountpoint -q $ram || { mkdir -p $ram && mount -t ramfs none $ram && chmod 1777 $ram; } || exit 1
export XDG_STATE_HOME=$ram/state

# state: Shmem of each node in kB, and the pages of each that are free, those on the lists of single
# CPUs too, as the inside of a JSON object. Every CPU hands in what it counted first: the kernel
# adds that up once a second, and shows a node without it until then (mm/vmstat.c).
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

# look NAME TARGET: what numalab finds, with the states before and after it, as the member NAME of a
# JSON object. It looks again, a hundred times at most, while shared memory changes meanwhile, as
# that of a server does which has just been started.
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

# end_family PID: ends the process and its children; returns when all have given back their memory.
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
