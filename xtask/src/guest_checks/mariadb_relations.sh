# Threads of a MariaDB on nodes 1 and 3 read two tables into its buffer pool; `inspect --relations`
# says where their pages are. With large_pages, the thread that starts the server touches all of the
# pool, here on node 2. Prints JSON documents, each after a line with its name. The server has no
# system tables, and belongs to `nobody`.
data=/tmp/mariadb
# A transparent huge page would be where the first of its frames was filled.
echo never >/sys/kernel/mm/transparent_hugepage/enabled
# The kernel's balancing would move the pool, which is private memory.
echo 0 >/proc/sys/kernel/numa_balancing
cpus_of() { cat /sys/devices/system/node/node$1/cpulist; }
mkdir -p $data && chown 65534:65534 $data && chmod 755 $data || exit 1
query() { mariadb --no-defaults --socket=$data/socket --batch --skip-column-names -e "$1"; }

# start [SETTING...]: starts the server; returns when it answers.
start() {
  taskset -c "$(cpus_of 2)" setpriv --reuid=65534 --regid=65534 --clear-groups mariadbd \
    --no-defaults --skip-grant-tables --skip-networking --skip-stack-trace --datadir=$data \
    --socket=$data/socket --innodb-buffer-pool-size=48M --loose-innodb-buffer-pool-size-max=48M \
    --innodb-use-native-aio=0 --innodb-buffer-pool-load-at-startup=0 \
    --innodb-buffer-pool-dump-at-shutdown=0 --innodb-flush-log-at-trx-commit=0 \
    --innodb-log-file-size=16M --key-buffer-size=1M --aria-pagecache-buffer-size=1M \
    --innodb-read-ahead-threshold=0 "$@" >>/tmp/mariadb.log 2>&1 &
  server=$!
  until query 'select 1' >/dev/null 2>&1; do
    kill -0 $server 2>/dev/null || { cat /tmp/mariadb.log >&2; exit 1; }
    sleep 0.3
  done
}
stop() { kill $server; wait $server; }

# read_from NODE: every thread of the server has the CPUs of the node while the table is read.
read_from() {
  taskset -acp "$(cpus_of $1)" $server >/dev/null || exit 1
  query "select sum(length(filler)) from shop.on_$1" >/dev/null || exit 1
}

# look NAME [SETTING...]: restarts the server, so that its pool is fresh, and inspects the tables.
look() {
  name=$1; shift
  stop; start "$@"
  read_from 1; read_from 3
  echo "$name-relations"
  numalab inspect mysql:$data --relations --server-view --json || exit 1
  echo "$name-counts"
  query "select json_objectagg(name, pages) from (select table_name as name, count(*) as pages \
    from information_schema.innodb_buffer_page where table_name like '%on\\_%' \
    and page_type = 'INDEX' group by 1) as counted" || exit 1
  echo "$name-kernel"
  # The bytes of all memory of the process on each node, by the kernel's own count.
  awk '{ kib = 4; for (i = 1; i <= NF; i++) if ($i ~ /^kernelpagesize_kB=/) kib = substr($i, 19)
         for (i = 1; i <= NF; i++) if ($i ~ /^N[0-9]+=/) { split(substr($i, 2), of, "=")
           bytes[of[1]] += of[2] * kib * 1024 } }
       END { printf "{"; for (node in bytes) { printf "%s\"%s\": %d", comma, node, bytes[node]
         comma = ", " }; print "}" }' /proc/$server/numa_maps
}

start
query 'create database shop'
for node in 1 3; do
  query "create table shop.on_$node (k int primary key, filler varchar(2000)) \
    select seq k, repeat('x', 1900) filler from shop.seq_1_to_6000" || exit 1
done
look small
echo moved-relations
numalab move mysql:$data --to interleave=0-3 >/dev/null || exit 1
numalab inspect mysql:$data --relations --json || exit 1
query 'select sum(length(filler)) from shop.on_1' >/dev/null || exit 1
echo undone-relations
numalab undo >/dev/null || exit 1
numalab inspect mysql:$data --relations --json || exit 1
for node in /sys/devices/system/node/node*; do
  echo 60 >$node/hugepages/hugepages-2048kB/nr_hugepages
done
look huge --large-pages
stop
