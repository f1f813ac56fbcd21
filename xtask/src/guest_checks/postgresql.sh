# Functions for scripts that need a PostgreSQL in the guest. It belongs to `nobody`, because the
# server refuses root. DIRECTORY holds data, socket and log. The kernel counts the guest's /tmp as
# shared memory, but not a ramfs.
postgresql=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
[ -n "$postgresql" ] || { echo "PostgreSQL is not installed (Debian: postgresql)" >&2; exit 1; }

as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }

# make_cluster DIRECTORY: creates a cluster; stdin has settings beyond these, which keep it small
# and quiet.
make_cluster() {
    mkdir -p "$1" && chown 65534:65534 "$1" && chmod 700 "$1" || exit 1
    as_nobody "$postgresql/initdb" -D "$1" -U postgres --no-locale --encoding=UTF8 --no-sync \
        --no-instructions >/dev/null || exit 1
    {
        echo "listen_addresses = ''"
        echo "unix_socket_directories = '$1'"
        printf '%s\n' 'huge_pages = off' 'fsync = off' 'autovacuum = off' \
            'min_wal_size = 32MB' 'max_wal_size = 64MB'
        cat
    } >>"$1/postgresql.conf"
}

# start_cluster DIRECTORY [WORDS...]: starts it through the command WORDS, for instance numactl;
# returns when the server answers.
start_cluster() {
    cluster=$1
    shift
    as_nobody "$@" "$postgresql/pg_ctl" -D "$cluster" -w -t 300 -l "$cluster/log" start \
        >/dev/null || { cat "$cluster/log" >&2; exit 1; }
}

# query DIRECTORY SQL: prints unaligned rows without a header.
query() { as_nobody "$postgresql/psql" -h "$1" -U postgres -X -A -t -c "$2" postgres; }

# postmaster DIRECTORY: prints the process id of the server.
postmaster() { head -n 1 "$1/postmaster.pid"; }

# stop_cluster DIRECTORY: stops it at once; returns when it has ended.
stop_cluster() {
    as_nobody "$postgresql/pg_ctl" -D "$1" -w -t 300 -m immediate stop >/dev/null
}
