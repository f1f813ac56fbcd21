# What check.service of systemd.sh runs.
units=/run/systemd/system
for unit in numalab-serve numalab-metrics; do
    # systemd looks for programs in the folders of a system, where the tested one is not.
    sed "s|^ExecStart=numalab |ExecStart=$(command -v numalab) |; s|/etc/numalab/|$PWD/|" \
        $unit.service >$units/$unit.service
    mkdir $units/$unit.service.d
    # Otherwise systemd boots the whole system for it.
    printf '[Unit]\nDefaultDependencies=no\n' >$units/$unit.service.d/alone.conf
done
systemctl daemon-reload
(umask 077; echo token-of-thirty-two-characters-and-more >token)

# A database of another user, who may not enter this folder.
mkdir --mode=755 /tmp/of-nobody
ln -s "$(readlink -f redis-server)" /tmp/of-nobody/redis-server
setpriv --reuid=nobody --regid=nogroup --clear-groups /tmp/of-nobody/redis-server \
    --port 7777 --save '' --dir /tmp >redis.said 2>&1 &
redis=$!
for attempt in $(seq 600); do
    grep -q 'Ready to accept' redis.said && break
    sleep 0.1
done

ask() { curl --silent --max-time 60 --write-out '%{http_code}\n' --output answer "$@"; }
judge() {
    echo "gaps of the $1: $(sed -n 's/^numalab_snapshot_gaps //p' $2)"
    memory='^numalab_instance_memory_bytes.database="redis:7777",node="[0-3]",source="numa-maps"'
    echo "memory of the database: $(grep -q "$memory" $2 && echo yes || grep numalab_instance $2)"
}

systemctl start numalab-serve
for attempt in $(seq 600); do
    ask 127.0.0.1:7755/healthz >/dev/null && break
    systemctl is-failed --quiet numalab-serve && break
    sleep 0.1
done
echo "serve: $(systemctl is-active numalab-serve)"
server=$(systemctl show --property=MainPID --value numalab-serve)
echo "user of the server: $(ps -o user= -p $server)"
echo "capabilities of the server: $(sed -n 's/^CapEff:\t//p' /proc/$server/status)"
echo "without the token: $(ask 127.0.0.1:7755/metrics)"
echo "with the token: $(ask --header "Authorization: Bearer $(cat token)" 127.0.0.1:7755/metrics)"
judge server answer
setpriv --reuid=numalab --regid=numalab --clear-groups env XDG_STATE_HOME=/var/lib HOME=/ \
    numalab run spin --trials 5 --seconds 0.05 --anyway >run.said 2>&1 || cat run.said
ask --header "Authorization: Bearer $(cat token)" 127.0.0.1:7755/runs >/dev/null
echo "a run of the server's user: $(grep -q spin answer && echo yes || head -c 2000 answer)"

systemctl start numalab-metrics
echo "metrics: $(systemctl show --property=Result --value numalab-metrics)"
judge metrics /var/lib/prometheus/node-exporter/numalab.prom
for unit in numalab-serve numalab-metrics; do
    systemctl is-failed --quiet $unit && systemctl status --no-pager $unit
done
systemctl stop numalab-serve
kill $redis
rm -rf /tmp/of-nobody $units/numalab-*.service $units/numalab-*.service.d
