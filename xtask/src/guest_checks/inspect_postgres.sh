# Inspects a PostgreSQL with 256 MiB of shared buffers, most of which do not exist at first: before
# they exist, once they do, and with fifty processes. Prints one JSON object with a member for each
# inspection. Needs the functions of postgresql.sh and node_counters.sh, and NUMACTL, the
# command-line options that place the server. The table that fills the buffers is a hole in a file
# of a tmpfs, which takes no page.
data=$ram/postgresql

prepare() {
    make_cluster $data <<'SETTINGS'
shared_buffers = 256MB
max_connections = 60
dynamic_shared_memory_type = mmap
SETTINGS
    mkdir /tmp/hole && chown 65534:65534 /tmp/hole
    start_cluster $data
    query $data 'create extension pg_prewarm' >/dev/null
    query $data "create tablespace hole location '/tmp/hole'" >/dev/null
    query $data 'create table big (filler text) tablespace hole' >/dev/null
    file=$(query $data "select pg_relation_filepath('big')")
    stop_cluster $data
    truncate -s 256M "$data/$file" || exit 1
    echo 'select pg_sleep(3600)' >$ram/sleep.sql
}

[ -d $data ] || prepare
before=$(state)
start_cluster $data numactl $NUMACTL
# Fills the caches of the kernel as a first inspection does, so that later ones find them filled.
numalab inspect "postgres:$data" --json >/dev/null || exit 1
echo "{\"before\":{$before},"
look untouched "postgres:$data"; echo ,
[ "$(query $data "select pg_prewarm('big')")" = 32768 ] || exit 1
look filled "postgres:$data"; echo ,
as_nobody $postgresql/pgbench -h $data -U postgres -n -c 45 -f $ram/sleep.sql postgres \
    >/dev/null 2>&1 &
asleep="select count(*) from pg_stat_activity where query like 'select pg_sleep(3600)%'"
waits=0
until [ "$(query $data "$asleep")" = 45 ]; do
    [ $((waits += 1)) -le 300 ] || { echo "45 sessions do not come" >&2; exit 1; }
    sleep 0.2
done
look fifty "postgres:$data"
echo }
kill $!
stop_cluster $data
