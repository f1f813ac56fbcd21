#!/bin/sh
# Prints what `numalab doctor --from FILE` reads: files of /sys and /proc that tell of the nodes of
# this machine, and of a process and its descendants. Changes nothing, installs nothing.
#
#   sh capture.sh [PID] > host.txt
#
# The memory of another user's process is printed only to root. What it prints names processes,
# files and units of this machine, but no arguments: read it before you send it.

LC_ALL=C
export LC_ALL

show() {
    for file in "$@"; do
        [ -f "$file" ] && cat "$file" >/dev/null 2>&1 || continue
        printf '==> %s <==\n' "$file"
        cat "$file" 2>/dev/null
        echo
    done
}

# Prints a file without what identifies people and installations.
part() {
    cat "$1" >/dev/null 2>&1 || return
    printf '==> %s <==\n' "$1"
    case $1 in
    proc/cpuinfo) sed 30q "$1" ;;
    proc/mounts) awk '$3 ~ /^(cgroup2?|hugetlbfs|proc|sysfs|devtmpfs)$/' "$1" ;;
    proc/cmdline) tr ' ' '\n' <"$1" | grep -E '^(hugepages|default_huge|numa|isolcpus|mem)' ;;
    proc/zoneinfo) grep -E '^ *(Node|pages|low|spanned|managed|protection:|start_pfn:) ' "$1" ;;
    *) tr '\000' '\n' <"$1" 2>/dev/null | sed 1q ;; # of arguments, the program alone
    esac
    echo
}

# The process and its descendants, without this script.
family() {
    sed -n 's/^\([0-9]*\) .*) [A-Za-z] \([0-9]*\) .*/\1 \2/p' /proc/[0-9]*/stat 2>/dev/null |
        awk -v top="$1" -v self="$$" '{ parent[$1] = $2 }
            END { for (pid in parent) {
                depth = 0
                for (up = pid; up in parent && up != top && up != self && depth < 64; depth++)
                    up = parent[up]
                if (up == top) print pid } }'
}

cd / || exit 1
cpu=sys/devices/system/cpu
node=sys/devices/system/node
huge=sys/kernel/mm/hugepages
thp=sys/kernel/mm/transparent_hugepage

part proc/cmdline
part proc/cpuinfo
part proc/mounts
part proc/zoneinfo
show proc/meminfo proc/sysvipc/shm proc/uptime proc/vmstat
show proc/sys/kernel/numa_balancing proc/sys/kernel/osrelease proc/sys/vm/zone_reclaim_mode
show proc/sys/vm/nr_hugepages proc/sys/vm/nr_overcommit_hugepages proc/sys/vm/swappiness
show sys/class/dmi/id/sys_vendor sys/class/dmi/id/product_name sys/hypervisor/type
for file in compatible hypervisor/compatible fw-cfg@*/compatible; do
    for found in sys/firmware/devicetree/base/$file; do part $found; done
done
show $cpu/online $cpu/offline $cpu/possible $cpu/isolated $cpu/smt/active
show $cpu/cpu[0-9]*/online $cpu/cpu[0-9]*/topology/*_list $cpu/cpu[0-9]*/topology/*_id
show $cpu/cpu[0-9]*/cache/index[0-9]*/level $cpu/cpu[0-9]*/cache/index[0-9]*/type
show $cpu/cpu[0-9]*/cache/index[0-9]*/size $cpu/cpu[0-9]*/cache/index[0-9]*/id
show $cpu/cpu[0-9]*/cache/index[0-9]*/shared_cpu_list $cpu/cpu[0-9]*/cpufreq/scaling_*r
show $node/online $node/possible $node/has_* $node/node[0-9]*/cpulist $node/node[0-9]*/distance
show $node/node[0-9]*/meminfo $node/node[0-9]*/numastat $node/node[0-9]*/hugepages/*/*_hugepages
show $huge/*/*_hugepages $thp/enabled $thp/defrag $thp/shmem_enabled sys/kernel/mm/numa/*
show sys/bus/pci/devices/*/class sys/bus/pci/devices/*/numa_node
show sys/bus/pci/devices/*/net/*/mtu sys/bus/pci/devices/*/nvme/*/state

[ -n "$1" ] || exit 0
cat "proc/$1/numa_maps" >/dev/null 2>&1 || {
    echo "cannot read /proc/$1/numa_maps: no such process, or its memory is shown to root only" >&2
    exit 1
}
for pid in $(family "$1"); do
    part proc/$pid/cmdline
    show proc/$pid/stat proc/$pid/status proc/$pid/cgroup proc/$pid/maps proc/$pid/numa_maps
    show proc/$pid/task/[0-9]*/stat proc/$pid/task/[0-9]*/status
done
