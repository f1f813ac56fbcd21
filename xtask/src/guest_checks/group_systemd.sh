# Boots systemd as the first process of a PID namespace, with this guest's tree of cgroups version 2
# as its own, runs the file /dev/shm/inner.sh as one of its services, and prints its output.
[ -x /lib/systemd/systemd ] || { echo "systemd is not installed (Debian: systemd)" >&2; exit 1; }
mkdir -p /run/systemd/system
# systemd may mount its own /tmp, but leaves /dev/shm as it is.
cat >/run/systemd/system/check.service <<END
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
Environment="PATH=$PATH" "HOME=/dev/shm" "XDG_STATE_HOME=/dev/shm/state"
ExecStart=/bin/sh -c 'sh /dev/shm/inner.sh >/dev/shm/said 2>&1; touch /dev/shm/done'
END
container=numalab unshare --pid --fork --mount-proc /lib/systemd/systemd --system \
    --unit=check.service --log-target=console --log-level=notice --show-status=no \
    </dev/null >/dev/shm/systemd 2>&1 & outer=$!
for attempt in $(seq 1200); do
    [ -e /dev/shm/done ] && break
    kill -0 $outer 2>/dev/null || break
    sleep 0.2
done
[ -e /dev/shm/done ] || { echo "the service has not ended:"; cat /dev/shm/systemd; } >&2
cat /dev/shm/said
kill -9 $(ps -o pid= --ppid $outer)
wait $outer 2>/dev/null
rm -rf /run/systemd /dev/shm/*
exit 0
