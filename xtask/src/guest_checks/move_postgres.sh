# A PostgreSQL with all of its memory on node 0, under pgbench, is moved to interleave, and back by
# undo. Prints JSON documents, each after a line with its name.
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
data=/tmp/postgresql
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
mkdir -p $data && chown 65534:65534 $data
as_nobody $bin/initdb -D $data -U postgres --no-sync --no-instructions >/dev/null || exit 1
cat >>$data/postgresql.conf <<'END'
listen_addresses = ''
unix_socket_directories = '/tmp/postgresql'
shared_buffers = 64MB
huge_pages = off
fsync = off
min_wal_size = 32MB
max_wal_size = 64MB
autovacuum = off
END
as_nobody numactl --membind=0 $bin/pg_ctl -D $data -w -t 300 -l $data/log start >/dev/null || exit 1
client="-h $data -U postgres"
as_nobody $bin/pgbench $client -i -s 2 -q postgres >/dev/null 2>&1 || exit 1
# All of the buffers exist from here on, with pages that no process that still runs has mapped.
as_nobody $bin/psql $client -qc 'select count(*) from pgbench_accounts' postgres >/dev/null
as_nobody $bin/pgbench $client -n -c 4 -j 1 -T 3600 postgres >/tmp/pgbench 2>&1 &
enough="select sum(xact_commit) > 200 from pg_stat_database"
until [ "$($bin/psql $client -Atc "$enough" postgres)" = t ]; do sleep 1; done
look() { echo "$1"; numalab inspect postgres:$data --json || exit 1; }
look before
echo moved; numalab move postgres:$data --to interleave --json; echo "status $?"
look after
echo undone; numalab undo; echo "status $?"
look back
pkill -INT pgbench; wait
echo pgbench; cat /tmp/pgbench
echo log; grep -E 'ERROR|FATAL|PANIC' $data/log
as_nobody $bin/pg_ctl -D $data -w -m immediate stop >/dev/null
