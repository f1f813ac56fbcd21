# The second half of the guest's first process: sets up the machine, runs the commands of the
# control directory one after the other, and switches the machine off.
# Settings come from settings.sh: cgroup=v1|v2, share=yes|no, offline_cpus="1 2", and the seconds
# that a command may take, or none.
b=/run/busybox
control=/run/guest

die() {
    echo "$*" >>$control/failure
    $b poweroff -f
}

mount_tmpfs() {
    [ -d "$1" ] || return 0
    $b mount -t tmpfs -o "mode=$2" tmpfs "$1" || die "cannot mount a tmpfs at $1"
}

mount_cgroup_v1() {
    $b mount -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup || die "cannot mount /sys/fs/cgroup"
    for controllers in cpuset cpu,cpuacct memory hugetlb pids; do
        $b mkdir "/sys/fs/cgroup/$controllers"
        $b mount -t cgroup -o "$controllers" cgroup "/sys/fs/cgroup/$controllers" ||
            die "cannot mount the cgroup v1 hierarchy $controllers"
    done
    $b ln -s cpu,cpuacct /sys/fs/cgroup/cpu
    $b ln -s cpu,cpuacct /sys/fs/cgroup/cpuacct
}

# Says what every process but those of the kernel does.
processes() {
    for process in /proc/[0-9]*; do
        [ -e "$process/exe" ] || continue
        echo "process ${process#/proc/}: $($b tr '\0' ' ' <"$process/cmdline" | $b cut -c 1-200)"
        for thread in "$process"/task/*; do
            echo "  $($b sed 's/^.*) //; s/ .*//' "$thread/stat") call $($b cat "$thread/syscall")"
            $b sed 's/^/    /' "$thread/stack"
        done
    done
}

. $control/settings.sh

mount_tmpfs /tmp 1777
mount_tmpfs /var/tmp 1777
$b mkdir -p /dev/shm /dev/pts /dev/hugepages /run/lock /run/user
mount_tmpfs /dev/shm 1777
$b mount -t devpts -o mode=620 devpts /dev/pts || die "cannot mount /dev/pts"
$b mount -t hugetlbfs hugetlbfs /dev/hugepages || die "cannot mount /dev/hugepages"
$b ln -s /proc/self/fd /dev/fd
$b ln -s /proc/self/fd/0 /dev/stdin
$b ln -s /proc/self/fd/1 /dev/stdout
$b ln -s /proc/self/fd/2 /dev/stderr
if [ "$cgroup" = v1 ]; then
    mount_cgroup_v1
else
    $b mount -t cgroup2 cgroup2 /sys/fs/cgroup || die "cannot mount cgroup v2"
fi
if [ "$share" = yes ]; then
    # A write-through page cache: programs may map shared files, and the host sees every write.
    $b mount -t 9p -o version=9p2000.L,trans=virtio,msize=512000,cache=mmap share /run/share ||
        die "cannot mount the shared directory"
fi
$b hostname numalab-guest
$b ip link set lo up
for cpu in $offline_cpus; do
    echo 0 >"/sys/devices/system/cpu/cpu$cpu/online" || die "cannot switch CPU $cpu off"
done

export PATH=/run/programs:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/tmp/home XDG_STATE_HOME=/tmp/home/.local/state LC_ALL=C.UTF-8 USER=root SHELL=/bin/sh
$b mkdir -p "$XDG_STATE_HOME"

# Nobody ever writes to it, so a shell can wait here for a time without a process more.
$b mkfifo /run/never
# The host ends a guest that stops doing this.
while :; do
    echo alive >$control/alive
    read -r -t 20 _ <>/run/never
done &
echo booted >$control/booted
for command in $control/commands/*; do
    cd "$HOME" || die "cannot enter $HOME"
    if [ "$seconds" ]; then
        (
            read -r -t "$seconds" _ <>/run/never
            processes >$control/late 2>/dev/null
            $b poweroff -f
        ) &
        watch=$!
    fi
    # A new session, so that signals to its group reach nothing else; redirected in a subshell, so
    # that messages of this shell about a killed command do not end up in its output.
    (
        exec </dev/null >>"$command/stdout" 2>>"$command/stderr"
        exec $b setsid /bin/sh "$command/command.sh"
    )
    status=$?
    [ -z "$seconds" ] || $b kill -KILL "$watch" 2>/dev/null
    echo $status >"$command/status.new"
    $b mv "$command/status.new" "$command/status"
done
if [ "$share" = yes ]; then
    $b cp -R "$XDG_STATE_HOME" /run/share/ 2>>$control/failure
fi
$b sync
$b poweroff -f
