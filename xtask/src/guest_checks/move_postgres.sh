# A PostgreSQL with all of its memory on node 0, under pgbench, is moved to interleave, and back by
# undo. Prints JSON documents, each after a line with its name. Needs the functions of
# postgresql.sh.
data=/tmp/postgresql
echo 'shared_buffers = 64MB' | make_cluster $data
start_cluster $data numactl --membind=0
client="-h $data -U postgres"
as_nobody $postgresql/pgbench $client -i -s 2 -q postgres >/dev/null 2>&1 || exit 1
# All of the buffers exist from here on, with pages that no process that still runs has mapped.
query $data 'select count(*) from pgbench_accounts' >/dev/null
as_nobody $postgresql/pgbench $client -n -c 4 -j 1 -T 3600 postgres >/tmp/pgbench 2>&1 &
enough="select sum(xact_commit) > 200 from pg_stat_database"
until [ "$(query $data "$enough")" = t ]; do sleep 1; done
look() { echo "$1"; numalab inspect postgres:$data --json || exit 1; }
look before
echo moved; numalab move postgres:$data --to interleave --json; echo "status $?"
look after
echo undone; numalab undo; echo "status $?"
look back
pkill -INT pgbench; wait
echo pgbench; cat /tmp/pgbench
echo log; grep -E 'ERROR|FATAL|PANIC' $data/log
stop_cluster $data
