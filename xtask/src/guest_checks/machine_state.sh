# Functions that print what numalab changes on a machine, as the kernel shows it, for checks that
# compare it with the state before. Needs bash.

prepare_machine() { # makes sure that nothing but numalab changes it
    # On 9p, which holds the directory of commands, each of the many starts would reread the
    # program.
    mkdir -p /tmp/bin && cp "$(command -v numalab)" /tmp/bin/ && PATH=/tmp/bin:$PATH
    # Otherwise the kernel merges small pages into larger ones in the background.
    echo never >/sys/kernel/mm/transparent_hugepage/enabled
    # Create now what the first command would create.
    numalab undo --list >/dev/null; mkdir -p "$XDG_STATE_HOME/numalab"
}

memory_state() { # PIDS: prints policy and pages by node of every mapping but those of programs
    for process in "$@"; do
        grep -v 'file=/usr' /proc/$process/numa_maps |
            awk '{ line = $1 " " $2; for (i = 3; i <= NF; i++)
                if ($i ~ /^(N[0-9]+|anon)=/) line = line " " $i; print line }'
    done
}

journal_state() { # prints what the journal says, and what lies beside it
    ls -A "$XDG_STATE_HOME/numalab" | grep -v -e '^runs' -e '^journal.jsonl$'
    pgrep -l numalab
    numalab undo --list
}

now_ms() { echo $(($(date +%s%N) / 1000000)); }
