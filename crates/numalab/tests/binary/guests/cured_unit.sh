# What check.service of systemd.sh runs.
unit=db.service
drop_ins=/etc/systemd/system/$unit.d
# Otherwise systemd boots the whole system for it.
cat >/run/systemd/system/$unit <<END
[Unit]
DefaultDependencies=no
[Service]
ExecStart=$PWD/redis-server --port 7777 --save '' --enable-debug-command yes --dir $PWD
END
mkdir -p $drop_ins
printf '[Service]\nNUMAPolicy=bind\nNUMAMask=0\nCPUAffinity=6-7\n' >$drop_ins/placed.conf
systemctl daemon-reload

fill() {
    for attempt in $(seq 600); do
        redis-cli -p 7777 PING 2>/dev/null | grep -q PONG && break
        systemctl is-failed --quiet $unit && systemctl status --no-pager $unit && break
        sleep 0.1
    done
    redis-cli -p 7777 DEBUG POPULATE 60000 key 1024 >/dev/null
}
# The node with nearly all private memory of the server, by the kernel's account.
home() {
    awk '!/ file=/ { for (field = 1; field <= NF; field++)
            if (match($field, /^N[0-9]+=/)) {
                split($field, part, "="); sum[part[1]] += part[2]; all += part[2] } }
        END { for (node in sum) if (sum[node] > 0.98 * all) print node }' \
        /proc/$(systemctl show --property=MainPID --value $unit)/numa_maps
}

systemctl start $unit
fill
echo "memory: $(home)"
numalab doctor unit:$unit --json >doctor.json
echo "finding: $(grep -o '"id": "memory-far"' doctor.json)"
echo "placed by: $(grep -c "\"source\": \"$drop_ins/placed.conf\"" doctor.json)"
numalab doctor unit:$unit --apply >applied 2>&1 || cat applied
echo "applied: $(home)"
numalab undo >/dev/null
echo "undone: $(home)"
numalab doctor unit:$unit --emit plan >emitted 2>&1 || tail -4 emitted
cp -r plan/etc/. /etc/
# The command that the plan names for its files.
sh -c "$(sed -n 's/^.*; then: //p' emitted)"
fill
echo "started again: $(home)"
systemctl show --property=NUMAPolicy $unit
numalab doctor unit:$unit --verify plan/numalab-plan.txt >verified 2>&1
echo "verified: $?"
numalab doctor unit:$unit --json | grep -q '"plan": {' || echo "no plan is left"
systemctl stop $unit
rm -rf $drop_ins /run/systemd/system/$unit
