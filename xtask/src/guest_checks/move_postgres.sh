# Interleaves a PostgreSQL under pgbench that has all of its memory on node 0, and moves it back
# with undo. Needs postgresql.sh. Prints sections that begin with a line `== NAME`.
data=/tmp/postgresql
# With transparent huge pages, pages other than the moved ones would come and go.
echo never >/sys/kernel/mm/transparent_hugepage/enabled
make_cluster $data <<'END'
shared_buffers = 24MB
END
start_cluster $data numactl --membind=0
as_nobody "$postgresql/pgbench" -h $data -U postgres -i -s 2 -q postgres >/tmp/pgbench 2>&1 ||
    { cat /tmp/pgbench >&2; exit 1; }
# The tables are larger than the buffers: from here on, every buffer is allocated.
query $data 'create extension pg_prewarm;
    select pg_prewarm(oid) from pg_class where relname in
        ('"'pgbench_accounts_pkey', 'pgbench_accounts'"')' >/dev/null
as_nobody numactl --membind=0 "$postgresql/pgbench" -h $data -U postgres -n -c 4 -j 1 -T 36000 \
    postgres >/tmp/pgbench 2>&1 & load=$!

commits() { query $data 'select sum(xact_commit) from pg_stat_database'; }
until_commits() { # waits until there are $1 commits
    for attempt in $(seq 600); do
        [ "$(commits)" -ge "$1" ] && return
        kill -0 $load || { cat /tmp/pgbench >&2; exit 1; }
        sleep 0.2
    done
    echo "there are no $1 commits after ten minutes: $(commits)" >&2
    exit 1
}
look() { echo "== $1"; timeout 300 numalab inspect postgres:$data --json || exit 1; }
work() { # runs numalab with these arguments while the load goes on
    echo "== $1"; timeout 600 numalab "$@" || exit 1
    until_commits $(($(commits) + 50))
}

until_commits 300
look before
work move postgres:$data --to interleave --json
look after
work undo
look back
# On this signal pgbench ends as if its time were over, with its report.
kill -ALRM $(pgrep -x pgbench)
wait $load
echo "== pgbench $?"; cat /tmp/pgbench
echo "== log"; grep -E 'ERROR|FATAL|PANIC' $data/log
stop_cluster $data
echo "== in force"; numalab undo --list
