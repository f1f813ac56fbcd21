# Backends on nodes 1 and 3 read two tables into the shared buffers; `inspect --relations` says
# where their blocks are, in pages of 4 KiB and in huge pages. Prints JSON documents, each after a
# line with its name. Needs the functions of postgresql.sh.
data=/tmp/relations
make_cluster $data <<'END'
shared_buffers = 48MB
END
start_cluster $data
query $data 'create extension pg_buffercache' >/dev/null
query $data 'create extension pg_prewarm' >/dev/null
for node in 1 3; do
  query $data "create table on_$node as select g k, repeat('x', 1900) filler \
    from generate_series(1, 6144) g" >/dev/null
done
query $data checkpoint >/dev/null

# read_from NODE: binds a backend to the CPUs of the node; it reads the table, and stays, because
# only a process that has touched a huge page knows where it lies.
read_from() {
  as_nobody $postgresql/psql -h $data -U postgres -X -q -A -t postgres >/dev/null <<END &
select pg_backend_pid() as pid \\gset
\\setenv PID :pid
\\! taskset -cp $(cat /sys/devices/system/node/node$1/cpulist) \$PID >/dev/null
select pg_prewarm('on_$1');
\\! touch $data/read-$1; until [ -e $data/looked ]; do sleep 0.1; done
END
  until [ -e $data/read-$1 ]; do sleep 0.1; done
  rm $data/read-$1
}

# look NAME: restarts the server, so that its memory is fresh, and inspects the tables.
look() {
  stop_cluster $data; start_cluster $data
  read_from 1; read_from 3
  echo $1; numalab inspect postgres:$data --json || exit 1
  echo "$1-relations"
  numalab inspect postgres:$data --relations --pg-role postgres --json || exit 1
  echo "$1-counts"
  touch $data/looked; wait; rm $data/looked
  query $data "select json_object_agg(name, buffers) from (select 'public.' || relname as name, \
    count(*) as buffers from pg_buffercache b join pg_class on pg_relation_filenode(pg_class.oid) \
    = b.relfilenode where relname like 'on\\__' group by 1) as counted"
}
look small
for node in /sys/devices/system/node/node*; do
  echo 40 >$node/hugepages/hugepages-2048kB/nr_hugepages
done
echo 'huge_pages = on' >>$data/postgresql.conf
look huge
stop_cluster $data
