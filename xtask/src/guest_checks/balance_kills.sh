# Kills `numalab balance` at random moments, COUNT times, with the random numbers of SEED; one
# `numalab undo` must then restore policy and places. Needs bash, moving.sh, machine_state.sh, root
# and four nodes.
#
# Prints a line for each kill, NUMBER MS END UNDONE as-before: END is `killed`, or the exit code if
# it had ended. If the state is not as before, the differences follow.

prepare_machine
# 16 MiB on node 3; a process on node 0 reads one half, one on node 1 the other, over and over.
rm -f /tmp/ready; mkfifo /tmp/ready
/usr/bin/python3 -c 'import mmap, os, time
bytes = 16 << 20
file = os.memfd_create("pool")
os.ftruncate(file, bytes)
memory = mmap.mmap(file, bytes)
os.sched_setaffinity(0, {7})
for at in range(0, bytes, 4096): memory[at] = 1
for half, cpu in ((0, 0), (1, 2)):
    if os.fork() == 0:
        os.sched_setaffinity(0, {cpu})
        while os.getppid() > 1: memory[half * bytes // 2:(half + 1) * bytes // 2:4096]
        os._exit(0)
with open("/tmp/ready", "w") as ready: ready.write(str(os.getpid()))
time.sleep(100000)' & pid=$!
timeout 120 cat /tmp/ready >/dev/null || { echo "the readers do not start" >&2; exit 1; }
mkfifo /tmp/never; exec 9<>/tmp/never
nap() { read -rt "$(($1 / 1000)).$(printf %03d $(($1 % 1000)))" -u 9; }

state() { # prints what a balancing and its undo change, as the kernel shows it
    awk '/memfd:pool/ { line = $2; for (i = 3; i <= NF; i++)
        if ($i ~ /^N[0-9]+=/) line = line " " $i; print line }' /proc/$pid/numa_maps
    journal_state
}

state >/tmp/before
grep -q 'N3=4096$' /tmp/before || { echo "the memory is not on node 3:"; cat /tmp/before; exit 1; }
window=8000
echo "window $window"
for number in $(seq "$count"); do
    after=$((RANDOM % window))
    numalab balance $pid --for 30 --json >/tmp/said 2>&1 & one=$!
    nap $after; kill -9 $one 2>/dev/null
    wait $one 2>/dev/null; code=$?
    [ $code = 137 ] && code=killed
    numalab undo >/tmp/undone 2>&1; undo=$?
    state >/tmp/after
    verdict=as-before
    cmp -s /tmp/before /tmp/after && [ $undo = 0 ] || verdict=different
    echo "$number $after $code $(grep -c '^undone' /tmp/undone) $verdict"
    [ $verdict = as-before ] && continue
    diff /tmp/before /tmp/after | sed 's/^/    /'
    sed 's/^/    undo: /' /tmp/undone; sed 's/^/    /' /tmp/said
    # The next round starts from the current state.
    numalab undo --force >/dev/null 2>&1
    state >/tmp/before
done
kill -9 $pid
