#!/bin/busybox sh
# The first process of the guest: loads what 9p needs, mounts the host's root read-only, and hands
# over to main.sh in the control directory. MODULES is replaced by the module names, in order.
b=/bin/busybox

die() {
    echo "numalab guest: $*"
    $b poweroff -f
}

$b mount -t proc proc /proc || die "cannot mount /proc"
$b mount -t sysfs sysfs /sys || die "cannot mount /sys"
$b mount -t devtmpfs devtmpfs /dev || die "cannot mount /dev"
for module in MODULES; do
    $b insmod /modules/$module.ko || die "cannot load the kernel module $module"
done
nine=version=9p2000.L,trans=virtio,msize=512000
# Nobody writes to the root and to the programs through the guest, so what was read once may stay
# cached: a program that is read again at every start takes several times as long to start.
$b mount -t 9p -o ro,$nine,cache=loose root /new-root || die "cannot mount the host's root"
$b mount -t tmpfs -o mode=755 tmpfs /new-root/run || die "cannot mount /run"
$b mkdir /new-root/run/guest /new-root/run/programs /new-root/run/share
$b mount -t 9p -o ro,$nine,cache=loose programs /new-root/run/programs ||
    die "cannot mount the programs"
# The host reads these files while the guest runs, so writes must not be cached.
$b mount -t 9p -o $nine,cache=none control /new-root/run/guest || die "cannot mount control"
$b cp /bin/busybox /new-root/run/busybox || die "cannot copy busybox"
for directory in proc sys dev; do
    $b mount --move /$directory /new-root/$directory || die "cannot move /$directory"
done
exec $b switch_root /new-root /run/busybox sh /run/guest/main.sh
