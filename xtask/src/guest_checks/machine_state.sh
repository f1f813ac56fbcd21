# What numalab changes of a machine, by the kernel's word, for checks that compare it with what it
# was. Needs bash.

prepare_machine() { # so that nothing but numalab changes it
    # Over 9p, as the directory of commands is, each of the many starts would reread the program.
    mkdir -p /tmp/bin && cp "$(command -v numalab)" /tmp/bin/ && PATH=/tmp/bin:$PATH
    # The kernel would make larger pages of small ones behind everybody's back.
    echo never >/sys/kernel/mm/transparent_hugepage/enabled
    # What was never there is made by the first command.
    numalab undo --list >/dev/null; mkdir -p "$XDG_STATE_HOME/numalab"
}

memory_state() { # PIDS: the policy and the pages by node of every mapping but those of programs
    for process in "$@"; do
        grep -v 'file=/usr' /proc/$process/numa_maps |
            awk '{ line = $1 " " $2; for (i = 3; i <= NF; i++)
                if ($i ~ /^(N[0-9]+|anon)=/) line = line " " $i; print line }'
    done
}

journal_state() { # what the journal says, and what lies beside it
    ls -A "$XDG_STATE_HOME/numalab" | grep -v -e '^runs' -e '^journal.jsonl$'
    pgrep -l numalab
    numalab undo --list
}

now_ms() { echo $(($(date +%s%N) / 1000000)); }
