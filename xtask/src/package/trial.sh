# Installs, uses, upgrades, removes and purges the package in a fresh Debian, and starts the program
# of the archive where there is nothing but a busybox. Arguments: an empty folder, a Debian as an
# archive, the archive, the package, and a newer one. In namespaces of its own.
set -euo pipefail

folder=$1 base=$2 archive=$3 package=$4 next=$5
mount --make-rprivate /

say() { printf 'tried: %s\n' "$*"; }
fail() {
    printf 'wrong: %s\n' "$*" >&2
    exit 1
}

# Mounts the files of the kernel below a root.
kernel_files() {
    mkdir -p "$1/proc" "$1/sys" "$1/dev" "$1/tmp"
    mount -t proc proc "$1/proc"
    mount --rbind -o ro /sys "$1/sys"
    mount --bind /dev "$1/dev"
}

# --- Nothing but a busybox and the program of the archive.
bare=$folder/bare
mkdir -p "$bare/bin"
cp "$folder/busybox" "$bare/bin/busybox"
tar --extract --file "$archive" --directory "$folder"
unpacked=$(echo "$folder"/numalab-*/)
cp "$unpacked/bin/numalab" "$bare/bin/numalab"
kernel_files "$bare"
in_bare() { chroot "$bare" /bin/busybox env -i PATH=/bin HOME=/root "$@"; }
in_bare numalab --version > /dev/null
in_bare numalab topology | grep -q '^CPUs ' || fail "topology without a C library"
# shellcheck disable=SC2016 # busybox's shell expands it
in_bare busybox sh -c 'busybox sleep 60 & numalab inspect $!; code=$?; kill $!; exit $code' \
    | grep -q node || fail "inspect without a C library"
in_bare numalab run spin --trials 5 --seconds 0.05 --anyway > "$folder/run" \
    || fail "a run without a C library: $(cat "$folder/run")"
say "archive, in a root with nothing but a busybox: topology, inspect, run"

# --- A fresh Debian.
debian=$folder/debian
mkdir "$debian"
tar --extract --file "$base" --directory "$debian"
kernel_files "$debian"
cp "$package" "$debian/root/package.deb"
cp "$next" "$debian/root/next.deb"
in_debian() {
    chroot "$debian" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive "$@"
}
# Every file, without those that dpkg, man and systemd keep of any package, and those of /run.
files() {
    (cd "$debian" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./root \
        -o -path ./var/lib/dpkg -o -path ./var/cache -o -path ./var/log -o -path ./var/lib/apt \
        -o -path ./tmp -o -path ./run -o -path ./var/lib/systemd \) -prune -o -print) \
        | LC_ALL=C sort
}
files > "$folder/before"

in_debian apt-get install --yes --no-install-recommends /root/package.deb > "$folder/said" 2>&1 \
    || fail "apt-get install: $(cat "$folder/said")"
in_debian dpkg --verify numalab | grep . && fail "dpkg --verify"
in_debian dpkg --audit | grep . && fail "dpkg --audit"
say "Debian: installed"

version=$(in_debian numalab --version)
in_debian numalab topology > /dev/null
in_debian numalab run spin --trials 5 --seconds 0.05 --anyway > /dev/null
in_debian man --where numalab numalab-inspect numalab-serve > /dev/null
in_debian man numalab-inspect | grep -q SYNOPSIS || fail "man numalab-inspect"
# Completions are loaded by the name of the command.
# shellcheck disable=SC2016 # the bash in there expands it
in_debian bash -c '. /usr/share/bash-completion/bash_completion
    _completion_loader numalab; complete -p numalab' | grep -q _numalab || fail "completion of bash"
say "Debian: $version, topology, run, man page and completion"

# --- The server, as its user.
[ "$(stat --format=%a%U "$debian/etc/numalab/token")" = 600root ] || fail "who reads the token"
in_debian getent passwd numalab | grep -q /var/lib/numalab || fail "the user numalab"
token=$(cat "$debian/etc/numalab/token")
[ "${#token}" -ge 32 ] || fail "a short token"
in_debian install --directory --owner=numalab --mode=0700 /var/lib/numalab
# No function of the shell, whose process would be one more.
chroot "$debian" setpriv --reuid=numalab --regid=numalab --clear-groups --inh-caps=-all \
    env -i XDG_STATE_HOME=/var/lib NUMALAB_TOKEN="$token" \
    /usr/bin/numalab serve --listen 127.0.0.1:7799 > "$folder/served" 2>&1 &
server=$!
ask() { chroot "$debian" bash -c 'exec 3<>/dev/tcp/127.0.0.1/7799 && printf "GET /metrics HTTP/1.0\r
Host: localhost\r\nAuthorization: Bearer %s\r\n\r\n" "$1" >&3 && cat <&3' ask "$1" 2> /dev/null; }
for _ in $(seq 100); do
    ask "$token" > "$folder/metrics" && break
    kill -0 $server 2> /dev/null || fail "serve: $(cat "$folder/served")"
    sleep 0.1
done
grep -q '^numalab_' "$folder/metrics" || fail "metrics: $(head -5 "$folder/metrics")"
ask wrong | grep -q '^numalab_' && fail "metrics without the token"
kill $server
wait $server || fail "the end of the server"
say "Debian: server as the user numalab, with the token of the package"

# --- Units.
for unit in numalab-serve.service numalab-metrics.timer; do
    in_debian systemctl enable "$unit" > /dev/null 2>&1 || fail "systemctl enable $unit"
done
for unit in numalab-serve.service numalab-metrics.service; do
    path=/usr/lib/systemd/system/$unit
    in_debian systemd-analyze verify "$path" > "$folder/said" 2>&1 || fail "$(cat "$folder/said")"
    exposure=$(in_debian systemd-analyze security --offline=true --no-pager "$path" | tail -1)
    in_debian systemd-analyze security --offline=true --threshold=25 --no-pager "$path" \
        > /dev/null || fail "$exposure"
    say "Debian: ${exposure#* }"
done

# --- Upgrade: what the administrator has changed stays.
echo 'OPTIONS="--listen 127.0.0.1:7798"' > "$debian/etc/default/numalab-serve"
in_debian apt-get install --yes --no-install-recommends /root/next.deb > "$folder/said" 2>&1 \
    || fail "upgrade: $(cat "$folder/said")"
in_debian dpkg-query --show --showformat='${Version} ${Status}' numalab > "$folder/said"
grep -q -- '-2 install ok installed' "$folder/said" || fail "upgraded: $(cat "$folder/said")"
grep -q 7798 "$debian/etc/default/numalab-serve" || fail "the upgrade changed settings"
[ "$(cat "$debian/etc/numalab/token")" = "$token" ] || fail "the upgrade changed the token"
say "Debian: upgraded, with settings and token as they were"

# --- Removed: settings stay.
in_debian apt-get remove --yes numalab > "$folder/said" 2>&1 || fail "remove: $(cat "$folder/said")"
[ ! -e "$debian/usr/bin/numalab" ] || fail "the program stays"
[ -e "$debian/etc/default/numalab-serve" ] || fail "settings go without a purge"
[ -e "$debian/etc/numalab/token" ] || fail "the token goes without a purge"
say "Debian: removed, with settings and token left"

# --- Purged: nothing stays but the user.
in_debian apt-get purge --yes numalab > "$folder/said" 2>&1 || fail "purge: $(cat "$folder/said")"
files > "$folder/after"
# The user's line was added to these, and the files as they were are beside them.
users='^\./etc/\(passwd\|group\|shadow\|gshadow\)-$'
diff <(grep -v "$users" "$folder/before") <(grep -v "$users" "$folder/after") \
    > "$folder/left" || true
if grep '^[<>]' "$folder/left" > "$folder/said"; then
    fail "left behind (>) or taken along (<): $(cat "$folder/said")"
fi
say "Debian: purged, with nothing left"
