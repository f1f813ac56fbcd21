# A PostgreSQL whose shared buffers are all on node 3 is read by two sessions: one on node 0 reads a
# table, one on node 1 another. `numalab balance` lets the kernel move the buffers, `numalab undo`
# moves them back. Needs postgresql.sh. Prints sections that begin with a line `== NAME`.
data=/tmp/postgresql
# With transparent huge pages, pages other than those that are counted would come and go.
echo never >/sys/kernel/mm/transparent_hugepage/enabled
make_cluster $data <<'END'
shared_buffers = 32MB
max_parallel_workers_per_gather = 0
END
start_cluster $data numactl --cpunodebind=3
# Each table is 8 MiB: a row of 4 KiB takes half a block.
query $data "create extension pg_prewarm;
    create table near (filler char(3900)); create table far (filler char(3900));
    alter table near alter filler set storage plain; alter table far alter filler set storage plain;
    insert into near select '' from generate_series(1, 2048);
    insert into far select '' from generate_series(1, 2048);
    select pg_prewarm('near'), pg_prewarm('far')" >/dev/null || exit 1
# Otherwise the first reader would write a hint to each row.
query $data "vacuum (freeze)" >/dev/null || exit 1

read_table() { # TABLE: a session that reads it over and over
    yes "select count(filler) from $1;" | as_nobody "$postgresql/psql" -h $data -U postgres -X -q \
        -o /dev/null postgres >/dev/null 2>&1 &
}
read_table near; read_table far
for attempt in $(seq 300); do
    sessions=$(query $data "select string_agg(pid || '', ' ' order by query like '%from far%')
        from pg_stat_activity where query like 'select count%'")
    set -- $sessions
    [ $# = 2 ] && break
    sleep 0.2
done
[ $# = 2 ] || { echo "no two sessions read: $sessions" >&2; exit 1; }
taskset -p -c 0-1 "$1" >/dev/null; taskset -p -c 2-3 "$2" >/dev/null

reads_near=$1 reads_far=$2

look() { # prints the segment as each session has mapped it, and what the kernel has moved
    echo "== $1"
    grep -h 'file=/dev/zero' /proc/$reads_near/numa_maps /proc/$reads_far/numa_maps
    grep numa_pages_migrated /proc/vmstat
}
echo "== sizes"
query $data "select sum(pg_relation_size(it)) from unnest('{near,far}'::regclass[]) it"
look before
echo "== balance"; timeout 300 numalab balance postgres:$data --for 90 --json || echo "status $?"
look after
echo "== undo"; timeout 300 numalab undo || echo "status $?"
look back
# Before the sessions are killed, which the server notes.
echo "== log"; grep -E 'ERROR|FATAL|PANIC' $data/log
pkill -x psql; pkill -x yes
stop_cluster $data
echo "== in force"; numalab undo --list
