# Functions of the capabilities check. $pid and its child are processes of another user that hold
# shared memory on node 0.

set_of() { # NAMES: prints them as setpriv(1) expects them
    local set=-all name
    for name in $1; do set="$set,+$name"; done
    echo "$set"
}
with() { # NAMES COMMAND…: runs it as an ordinary user with exactly these capabilities
    local set seconds=60; set=$(set_of "$1"); shift
    # A server ends only when it is asked to; its status is then its own.
    [ "$2" = serve ] && seconds=10
    setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps="$set" --ambient-caps="$set" \
        --bounding-set="$set" env XDG_STATE_HOME=/tmp/nobody \
        timeout --preserve-status $seconds "$@" >/tmp/out 2>/tmp/err
}
whole() { # TITLE NAMES COMMAND…: prints its status, and whether it says that it saw everything
    local title="$1"; shift
    with "$@"
    echo "$title: $?$(grep -q '^  "complete": true' /tmp/out && echo ', complete')" \
        $(head -c 300 /tmp/err | grep -m1 '^numalab: ')
}
lacking() { # TITLE NAME NAMES COMMAND…: prints its status without NAME, and whether it names it
    local title="$1" lacks="$2" names=" $3 "; shift 3
    with "${names% $lacks *} ${names#* $lacks }" "$@"
    local status=$? named=""
    cat /tmp/out /tmp/err | grep -qi "cap_$lacks" && named=", named"
    echo "$title without $lacks: $status$named"
}

printf '50 100\n100 50\n' >/tmp/latencies.txt
printf 'case,figure\na,1\nb,2\n' >/tmp/figures.csv
mkdir -p /tmp/nobody; chown 65534:65534 /tmp/nobody; cd /tmp/nobody
for mechanism in affinity group; do
    cat >/tmp/$mechanism.toml <<END
format = "numalab.experiment/1"
name = "one"
question = "Is one as good as the other?"
baseline = "one"
asks-about-memory = false
[load]
work = "command"
command = "echo 1"
[[case]]
name = "one"
about = "Node 0."
cpus = "0"
mechanism = "$mechanism"
[[case]]
name = "other"
about = "Node 1."
cpus = "2"
mechanism = "$mechanism"
END
done
rm -f /tmp/ready; mkfifo -m 666 /tmp/ready
setpriv --reuid=1 --regid=1 --clear-groups numactl --membind=0 \
    /usr/bin/python3 /tmp/shared_memory.py 8 2 memfd /tmp/ready >/dev/null 2>&1 &
pid=$(timeout 120 cat /tmp/ready)
