# Boots systemd as the first process of a PID namespace, with this guest's tree of cgroups version 2
# as its own, runs check.sh as one of its services, prints its output, and removes what systemd
# leaves on the guest.
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

cat >$work/check.sh <<'END'
slice=/sys/fs/cgroup/numalab.slice/numalab-check.slice
echo "init: $(cat /proc/1/comm)"
numalab group create check -N 1 -m 1-2 --cpu-limit 1.5 >/dev/null
echo "create: $? $(cat $slice/cpuset.cpus.effective $slice/cpuset.mems.effective $slice/cpu.max |
    tr '\n' ' ')"
echo "list: $(numalab group list | grep -c 'systemd numalab-check.slice')"
numalab bind --group check sh -c 'cat /proc/self/cgroup; grep _allowed_list /proc/self/status' |
    sed 's/run-.*[.]scope/SCOPE/' | tr '\t' ' '
numalab bind --group check -m 2 sh -c 'exit 7'
echo "bind: $?"
numalab bind --cpu-limit 0.5 sh -c \
    'cat "/sys/fs/cgroup$(sed s/0::// /proc/self/cgroup)/cpu.max"; exit 7'
echo "limit: $?"
# Otherwise systemd boots the whole system for it, and empties /tmp.
systemd-run --quiet --property=DefaultDependencies=no --slice=numalab-check.slice --unit=member \
    sleep 3600
numalab group set check -m 2 >/dev/null
echo "set: $? $(cat $slice/cpuset.mems.effective)"
numalab group add check $$ 2>/dev/null; echo "add: $?"
numalab group set /system.slice -m 2 2>/dev/null; echo "of others: $?"
numalab group delete check 2>/dev/null; echo "delete with a member: $?"
systemctl stop member
cat >bound.toml <<'TOML'
format = "numalab.experiment/1"
name = "bound"
question = "Where does the group of a trial lie?"
baseline = "bound"
asks-about-memory = false
[placement]
mechanism = "group"
cpus = "2"
[sga]
cache = "4MiB"
[load]
sessions = 1
[[case]]
name = "bound"
about = "In a group."
TOML
numalab run ./bound.toml --trials 5 --seconds 0.1 --json >run.json 2>run.said || cat run.said
echo "run: $(grep -c '"valid": true' run.json)"
grep -o '/sys/fs/cgroup/[^"]*' run.json |
    sed 's/run-[^/]*[.]scope/SCOPE/; s/numalab-[0-9]*$/NAME/' | uniq
numalab undo
numalab undo --list
echo "not ours: $(ls -d /sys/fs/cgroup/numalab-* /sys/fs/cgroup/*/run-*.scope 2>/dev/null)"
echo "left: $(ls -d /sys/fs/cgroup/numalab.slice 2>/dev/null)"
END
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
container=numalab unshare --uts --pid --fork --kill-child --mount-proc /lib/systemd/systemd \
    --system --unit=check.service --log-target=console --log-level=notice --show-status=no \
    </dev/null >$work/systemd 2>&1 & outer=$!
trap end EXIT
for attempt in $(seq 6000); do
    [ -e $work/done ] && break
    kill -0 $outer 2>/dev/null || break
    sleep 0.2
done
[ -e $work/done ] || { echo "the service has not ended:"; cat $work/systemd; } >&2
cat $work/said
