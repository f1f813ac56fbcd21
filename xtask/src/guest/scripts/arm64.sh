# What numalab does on a processor of arm64, in a guest with four nodes. The kernel's own files
# judge it, read here with busybox. The first thing that is not so ends it.
set -eu

failed() {
    echo "FAILED: $*"
    exit 1
}

step() {
    echo "== $*"
}

# The kB of a process on a node: of pages of a size that each line of numa_maps says.
kb_on() {
    awk -v node="N$2" '{
        size = 0
        for (i = 3; i <= NF; i++) {
            split($i, part, "=")
            if (part[1] == "kernelpagesize_kB") size = part[2]
            if (part[1] == node) pages = part[2]
        }
        sum += pages * size
        pages = 0
    } END { print sum + 0 }' "/proc/$1/numa_maps"
}

# What a document says of a key at its top.
said() {
    sed -n "s/^  \"$1\": \"*\([^\",]*\).*/\1/p" "$2"
}

at_least() {
    [ "$1" -ge "$2" ] || failed "$3: $1, expected at least $2"
}

same() {
    [ "$1" = "$2" ] || failed "$3: $1, expected $2"
}

# A process with 64 MiB of its own: dd has read its block, and nobody reads what it writes.
hold() {
    dd if=/dev/zero bs=64M count=1 2>/dev/null | sleep 600 &
    holder=
    while [ -z "$holder" ] || [ "$(awk '/VmRSS/ { print $2 }' "/proc/$holder/status")" -lt 65536 ]
    do
        holder=$(pidof dd) || holder=
    done
}

page_kb=$(awk '/KernelPageSize/ { print $2; exit }' /proc/self/smaps)
step "base pages of $page_kb KiB"
expected_kb=$1
same "$page_kb" "$expected_kb" "the base page of this kernel"

step topology
numalab topology --json >topology.json
numalab topology
same "$(said page_bytes topology.json)" $((page_kb * 1024)) "the size of a base page"
same "$(said emulated topology.json)" true "whether this machine is emulated"
for node in 0 1 2 3; do
    cpus=$(cat /sys/devices/system/node/node$node/cpulist)
    grep -q "\"cpus\": \"$cpus\"" topology.json || failed "node $node has CPUs $cpus"
done
same "$(said possible_nodes topology.json)" "$(cat /sys/devices/system/node/possible)" "the nodes"

step latency
numalab latency --working-set 1MiB --rounds 1 >latency.txt
cat latency.txt
grep -q "emulated in software" latency.txt || failed "figures of an emulator count as real"

step "bind --verify"
numalab bind -N 1 -m 2 --verify -- \
    sh -c 'grep -h Cpus_allowed_list /proc/self/status; grep stack /proc/self/numa_maps; sleep 9' \
    >bound.txt
cat bound.txt
cpus=$(cat /sys/devices/system/node/node1/cpulist)
grep -q "Cpus_allowed_list:	$cpus\$" bound.txt || failed "not bound to the CPUs of node 1"
grep -q "bind:2 stack" bound.txt || failed "not bound to the memory of node 2"

step inspect
hold
numalab inspect "$holder" --json >inspect.json
for node in 0 1 2 3; do
    echo "node $node: $(kb_on "$holder" $node) kB"
done
own=$(awk '/^ *"private_bytes_by_node"/ { inside = 1; next } /}/ { inside = 0 }
    inside { gsub(/[^0-9 ]/, ""); sum += $2 } END { print sum / 1024 }' inspect.json)
rss=$(awk '/RssAnon/ { print $2 }' "/proc/$holder/status")
echo "private memory: $own kB by numalab, $rss kB by the kernel"
at_least "$own" 65536 "private memory"
[ "$own" -le $((rss + 1024)) ] || failed "more than the kernel says"

step move
was=$(for node in 0 1 2 3; do echo "$(kb_on "$holder" $node) $node"; done | sort -n | tail -n 1)
home=${was#* }
to=$(((home + 2) % 4))
numalab move "$holder" --to $to
at_least "$(kb_on "$holder" $to)" 65536 "kB on node $to after the move"

step undo
numalab undo
at_least "$(kb_on "$holder" "$home")" 65536 "kB on node $home after undo"
[ "$(kb_on "$holder" $to)" -lt 8192 ] || failed "memory stayed on node $to"

step doctor
numalab doctor "$holder"
kill "$holder"

step capture
numalab capture machine.tar.zst
numalab topology --root machine.tar.zst --json >captured.json
same "$(said page_bytes captured.json)" $((page_kb * 1024)) "the base page of the capture"
same "$(said emulated captured.json)" true "whether the captured machine is emulated"

step "run: the instance is where it is asked to be"
numalab run local-vs-remote --hold remote --seconds 120 >held.txt 2>&1 &
held=$!
while ! grep -q . held.txt || ! grep -q numalab-sga /proc/[0-9]*/numa_maps 2>/dev/null; do
    sleep 1
done
cat held.txt
maps=$(grep -l 'bind:.*numalab-sga' /proc/[0-9]*/numa_maps | head -n 1)
[ -n "$maps" ] || failed "no SGA is bound"
line=$(grep 'bind:.*numalab-sga' "$maps" | head -n 1)
echo "$line"
echo "$line" | grep -q " bind:\([1-3]\) .* N\1=[0-9]* kernelpagesize_kB=$page_kb\$" ||
    failed "the SGA is elsewhere"

step firsttouch
numalab firsttouch "$(sed -n 's/^instance: //p' held.txt)" --for 3s --json >look.json
grep -q "\"page_bytes\": $((page_kb * 1024))" look.json || failed "the pages of a segment"

kill -INT "$held"
wait "$held" || true

step "run: trials count, and nobody wins"
numalab run local-vs-remote --trials 5 --seconds 0.2 >run.txt 2>&1 || { cat run.txt; failed run; }
cat run.txt
grep -q "emulated" run.txt || failed "a winner on an emulated machine"
echo "== all is so"
