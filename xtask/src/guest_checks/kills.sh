# Kills a sequence of numalab commands at random points, lets one `numalab undo` repair what is
# left, and compares the machine with its state before: COUNT times, with the random numbers of
# SEED. Needs bash, moving.sh, machine_state.sh, root, two nodes and empty pools of huge pages.
#
# Prints a line for each kill, NUMBER AFTER_MS STEP CHANGES as-before, where STEP is the last step
# that had started and CHANGES the number of changes that undo reverted; if the state is not as
# before, the differences follow. STEP end: the sequence had finished.

prepare_machine
cat >/tmp/kills.toml <<'END'
format = "numalab.experiment/1"
name = "kills"
question = "What is left after a kill?"
baseline = "group"
asks-about-memory = false
[sga]
cache = "1MiB"
[load]
sessions = 1
[[case]]
name = "group"
about = "In a processor group."
cpus = "all:1"
mechanism = "group"
[[case]]
name = "segment"
about = "With a System V segment."
backing = "sysv"
END
start 4 memfd 1
setsid sleep 100000 & idle=$!

# The sequence; each step reports that it starts.
cat >/tmp/sequence.sh <<END
step() { echo "\$1" >/tmp/step; shift; numalab "\$@" || echo "\$*: status \$?" >>/tmp/failed; }
step create group create kills --physcpubind=0 --membind=0-1
step add group add kills $idle
step set group set kills --physcpubind=0-1 --cpu-limit 1.5
step pages pages --set 0=6,1=9
step interleave move $pid --to interleave
step fewer pages --set 0=2
step shared move $pid --to 1 --shared
step run run /tmp/kills.toml --trials 5 --seconds 0.1
echo end >/tmp/step
END

state() { # prints what the sequence changes, as the kernel shows it
    grep . /sys/devices/system/node/node*/hugepages/*/nr_hugepages
    find /sys/fs/cgroup -type d | sort
    find /sys/fs/cgroup \( -name cgroup.subtree_control -o -name 'cpuset.*' -o -name cpu.max \) |
        sort | xargs grep -H .
    for process in $pid $children $idle; do
        cat /proc/$process/cgroup
        grep _allowed_list /proc/$process/status
    done
    memory_state $pid $children $idle
    cat /proc/mounts /proc/sysvipc/shm
    ls -A /dev/shm
    journal_state
}

gone() { # waits until no process of session $1 and no numalab is left
    for attempt in $(seq 600); do
        [ -z "$(pgrep -s "$1"; pgrep numalab)" ] && return
        sleep 0.1
    done
    echo "still there: $(pgrep -l -s "$1"; pgrep -l numalab)"
}

once() { # runs the sequence, and kills it after $1 ms, or lets it end if that is empty
    rm -f /tmp/failed
    echo none >/tmp/step
    setsid bash /tmp/sequence.sh >/tmp/said 2>&1 & leader=$!
    if [ -n "$1" ]; then
        sleep "$(($1 / 1000)).$(printf %03d $(($1 % 1000)))"
        kill -9 -- -$leader 2>/dev/null
    fi
    wait $leader 2>/dev/null
    gone $leader
}

state >/tmp/before
began=$(now_ms)
sed '/^step run/d' /tmp/sequence.sh >/tmp/without_run.sh
bash /tmp/without_run.sh >/tmp/said 2>&1
window=$(($(now_ms) - began))
numalab undo >/tmp/undone 2>&1
state >/tmp/after
[ -e /tmp/failed ] && { cat /tmp/failed /tmp/said; exit 1; }
cmp -s /tmp/before /tmp/after || { echo "without a kill:"; diff /tmp/before /tmp/after; exit 1; }
# The experiment is long, but changes things only when a trial begins or ends: a third of the kills
# falls into its beginning.
window=$((window * 3 / 2))
echo "window $window"
for number in $(seq "$count"); do
    after=$(((RANDOM * 32768 + RANDOM) % window))
    once $after
    step=$(cat /tmp/step)
    numalab undo >/tmp/undone 2>&1
    state >/tmp/after
    verdict=as-before
    cmp -s /tmp/before /tmp/after || verdict=different
    echo "$number $after $step $(grep -c '^undone' /tmp/undone) $verdict"
    [ $verdict = as-before ] && continue
    diff /tmp/before /tmp/after | sed 's/^/    /'
    sed 's/^/    undo: /' /tmp/undone
    # The next kill starts from the original state.
    for attempt in $(seq 60); do
        numalab undo --force >/dev/null 2>&1 && break
        sleep 1
    done
done
