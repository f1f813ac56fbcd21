# What check.service of systemd.sh runs.
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
    sed 's/run-[^/]*[.]scope/SCOPE/; s/numalab-[0-9.a-z-]*$/NAME/' | uniq
numalab undo
numalab undo --list
echo "not ours: $(ls -d /sys/fs/cgroup/numalab-* /sys/fs/cgroup/*/run-*.scope 2>/dev/null)"
echo "left: $(ls -d /sys/fs/cgroup/numalab.slice 2>/dev/null)"
