# Lets numalab move and numalab undo change one target at once, kills some of them, and checks that
# one last `numalab undo` restores the machine: COUNT times, with the random numbers of SEED. Needs
# bash, moving.sh, machine_state.sh, root and four nodes.
#
# Prints a line for each round, NUMBER CODES refused-N UNDONE as-before: the exit codes of the
# commands in the order of their ends, how many were refused because another was at work, and how
# many changes the last undo reverted. If the state is not as before, the differences follow.

prepare_machine
# Two processes share 6 MiB, and each has private memory.
start 6 memfd 2
holders="$pid $children"
mkfifo /tmp/never; exec 9<>/tmp/never

state() { # prints what moves and their undos change, as the kernel shows it
    memory_state $holders
    journal_state
}

nap() { read -rt "$(($1 / 1000)).$(printf %03d $(($1 % 1000)))" -u 9; }

act() { # AFTER_MS KILL_MS WORDS: starts numalab later, and kills it if KILL_MS is not 0
    local after=$1 kill_after=$2 said; shift 2
    said=/tmp/said.$BASHPID
    nap "$after"
    numalab "$@" >"$said" 2>&1 & local one=$!
    if [ "$kill_after" -gt 0 ]; then nap "$kill_after"; kill -9 $one; fi
    wait $one; local code=$?
    grep -q 'has locked' "$said" && echo refused >>/tmp/refused
    echo $code >>/tmp/codes
    case $code in 0|4|137) ;; *) echo "$* ended with $code"; cat "$said" ;; esac >>/tmp/unexpected
    rm "$said"
} 2>/dev/null

destinations=(interleave 1 2 3 interleave=1-3 spread=0:1,3:2 near-cpus)
parts=("" --shared --private)
others=

# Draw random numbers here and not in the processes that are started, which would draw others each
# time.
draw() { # MOVE-OR-UNDO: sets words and kill_after
    kill_after=0
    [ $((RANDOM % 3)) = 0 ] && kill_after=$((RANDOM % window + 1))
    words=(undo)
    [ "$1" = undo ] && return
    words=(move "$pid" --to "${destinations[RANDOM % 7]}" ${parts[RANDOM % 3]})
    [ $((RANDOM % 2)) = 0 ] && words+=(--mib-per-s $((RANDOM % 20 + 5)))
}

beside() { # MOVE-OR-UNDO: starts it at a random moment
    draw "$1"
    act $((RANDOM % window)) $kill_after "${words[@]}" &
    others="$others $!"
}

once() { # runs a move, then two to four of either kind at once, at least one of each
    draw move; act 0 $kill_after "${words[@]}"
    others=; beside undo; beside move
    for more in $(seq $((RANDOM % 3))); do
        if [ $((RANDOM % 2)) = 0 ]; then beside undo; else beside move; fi
    done
    wait $others
}

state >/tmp/before
began=$(now_ms)
numalab move "$pid" --to interleave >/tmp/said 2>&1 || { cat /tmp/said; exit 1; }
window=$(($(now_ms) - began))
numalab undo >/tmp/said 2>&1 || { cat /tmp/said; exit 1; }
state >/tmp/after
cmp -s /tmp/before /tmp/after || { echo "without others:"; diff /tmp/before /tmp/after; exit 1; }
echo "window $window"
numalab move "$pid" --to 1 --shared --mib-per-s 1 >/tmp/slow 2>&1 & slow=$!
until_at_work $slow
echo "met: $(quiet move "$pid" --to 2 --shared) $(quiet undo)"
wait $slow
numalab undo >/tmp/said 2>&1 || { cat /tmp/said; exit 1; }
state >/tmp/after
cmp -s /tmp/before /tmp/after || { echo "after they met:"; diff /tmp/before /tmp/after; exit 1; }
for number in $(seq "$count"); do
    : >/tmp/codes; : >/tmp/refused; : >/tmp/unexpected
    once
    numalab undo >/tmp/undone 2>&1; code=$?
    state >/tmp/after
    verdict=as-before
    cmp -s /tmp/before /tmp/after && [ $code = 0 ] && [ ! -s /tmp/unexpected ] || verdict=different
    codes=$(tr '\n' , </tmp/codes); refused=$(wc -l </tmp/refused)
    echo "$number ${codes%,} refused-$refused $(grep -c '^undone' /tmp/undone) $verdict"
    [ $verdict = as-before ] && continue
    diff /tmp/before /tmp/after | sed 's/^/    /'
    sed 's/^/    undo: /' /tmp/undone; sed 's/^/    /' /tmp/unexpected
    # The next round starts from the current state.
    numalab undo --force >/dev/null 2>&1
    state >/tmp/before
done
