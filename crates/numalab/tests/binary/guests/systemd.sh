# Boots systemd as the first process of a PID namespace, with this guest's tree of cgroups version 2
# as its own, runs check.sh of this folder as one of its services, prints its output, and removes
# what systemd leaves on the guest. A mounts.sh is run before systemd, in the same namespace.
[ -x /lib/systemd/systemd ] || { echo "systemd is not installed (Debian: systemd)" >&2; exit 1; }
work=$PWD
cgroups=/sys/fs/cgroup
controllers=$(cat $cgroups/cgroup.subtree_control)
sysctl --all --pattern '^(fs.file-max|net.unix.max_dgram_qlen)$' >$work/sysctl

end() {
    kill -9 $outer
    wait $outer 2>/dev/null
    # The processes of the namespace end with its first one, but not at once.
    tries=0
    until find $cgroups -mindepth 1 -depth -type d -exec rmdir {} + 2>$work/rmdir; do
        [ $((tries += 1)) -le 3000 ] || { cat $work/rmdir >&2; exit 1; }
        sleep 0.1
    done
    for controller in $(cat $cgroups/cgroup.subtree_control); do
        case " $controllers " in
            *" $controller "*) ;;
            *) echo "-$controller" >$cgroups/cgroup.subtree_control ;;
        esac
    done
    sysctl --quiet --load=$work/sysctl
    rm -rf /run/systemd /run/credentials /dev/core
}

mkdir -p /run/systemd/system
cat >/run/systemd/system/check.service <<END
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
WorkingDirectory=$work
Environment="PATH=$PATH" "HOME=$work" "XDG_STATE_HOME=$work/state"
ExecStart=/bin/sh -c 'sh check.sh >said 2>&1; touch done'
END
touch mounts.sh
container=numalab unshare --uts --pid --fork --kill-child --mount-proc sh -ec '. ./mounts.sh
    exec /lib/systemd/systemd --system --unit=check.service --log-target=console \
        --log-level=notice --show-status=no' </dev/null >$work/systemd 2>&1 & outer=$!
trap end EXIT
for attempt in $(seq 6000); do
    [ -e $work/done ] && break
    kill -0 $outer 2>/dev/null || break
    sleep 0.2
done
[ -e $work/done ] || { echo "the service has not ended:"; cat $work/systemd; } >&2
cat $work/said
