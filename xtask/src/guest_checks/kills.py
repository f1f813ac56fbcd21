"""Kills a sequence of numalab commands at random points, lets `numalab undo` repair what is left,
and compares the machine with what it was before: COUNT times, with the random numbers of SEED.

The sequence makes a processor group, resizes pools of huge pages, moves the memory of a process,
and runs an experiment in a processor group. Prints one line of JSON for every state that is not as
before, and at the end one with the counts. Needs root and two nodes; the nodes' pools must be empty.
"""
import glob
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

count, seed = int(sys.argv[1]), int(sys.argv[2])
chance = random.Random(seed)

# Of the experiment, this much is within reach of a kill.
RUN_SECONDS = 4

EXPERIMENT = """
format = "numalab.experiment/1"
name = "kills"
question = "What is left after a kill?"
baseline = "group"
asks-about-memory = false
[sga]
cache = "1MiB"
[load]
sessions = 1
[[case]]
name = "group"
about = "In a processor group."
cpus = "all:1"
mechanism = "group"
"""

HOLDER = """
import mmap, time
memory = mmap.mmap(-1, 4 << 20)
for at in range(0, 4 << 20, 4096):
    memory[at] = 1
print("ready", flush=True)
time.sleep(1 << 30)
"""


def start_holder():
    """A process with shared and private memory on node 0, which touches no more."""
    words = ["numactl", "--membind=0", "/usr/bin/python3", "-c", HOLDER]
    holder = subprocess.Popen(words, stdout=subprocess.PIPE)
    holder.stdout.readline()
    return holder


def sequence(pid):
    """The commands, as one shell script."""
    commands = [
        "numalab pages --set 0=6,1=9",
        f"numalab move {pid} --to interleave",
        "numalab pages --set 0=2",
        f"numalab move {pid} --to 1 --shared",
        "numalab run /tmp/kills.toml --trials 5 --seconds 0.1",
    ]
    if has_group:
        commands.insert(0, "numalab group create kills --physcpubind=0 --membind=0-1")
    return " && ".join(commands)


def pages_of(pid):
    """By mapping: the policy and the pages on each node."""
    lines = open(f"/proc/{pid}/numa_maps").read().splitlines()
    kept = []
    for line in lines:
        fields = line.split()
        if any(field.startswith("file=/usr") for field in fields):
            continue
        nodes = [field for field in fields if re.match(r"N\d+=|anon=|swapcache=", field)]
        kept.append((fields[0], fields[1], nodes))
    return kept


def state(holder):
    """What the sequence changes, as the kernel tells it."""
    pools = {path: open(path).read() for path in glob.glob(
        "/sys/devices/system/node/node*/hugepages/*/nr_hugepages")}
    groups = sorted(path for path, _, _ in os.walk("/sys/fs/cgroup"))
    controllers = {path: open(path + "/cgroup.subtree_control").read() for path in groups
                   if os.path.exists(path + "/cgroup.subtree_control")}
    segments = open("/proc/sysvipc/shm").read().count("\n")
    return {"pools": pools, "groups": groups, "controllers": controllers, "segments": segments,
            "pages": pages_of(holder.pid), "shm": sorted(os.listdir("/dev/shm"))}


def run_numalab(*words):
    return subprocess.run(["numalab", *words], capture_output=True, text=True)


def repaired(before, holder):
    """Undoes until nothing is in force and the state is as before, for a while; what differs."""
    deadline = time.monotonic() + 60
    while True:
        undo = run_numalab("undo")
        listed = run_numalab("undo", "--list")
        now = state(holder)
        different = {key: [before[key], now[key]] for key in before if before[key] != now[key]}
        in_force = listed.stdout.strip() != "nothing is in force"
        if not different and not in_force:
            return None
        if time.monotonic() > deadline:
            return {"different": different, "undo": undo.stdout + undo.stderr,
                    "listed": listed.stdout}


# The kernel would make larger pages of the holder's small ones behind everybody's back.
with open("/sys/kernel/mm/transparent_hugepage/enabled", "w") as file:
    file.write("never")
has_group = run_numalab("group", "--help").returncode == 0
with open("/tmp/kills.toml", "w") as file:
    file.write(EXPERIMENT)
holder = start_holder()
before = state(holder)
began = time.monotonic()
commands, experiment = sequence(holder.pid).rsplit(" && ", 1)
whole = subprocess.run(["sh", "-c", commands], capture_output=True, text=True)
if whole.returncode != 0:
    sys.exit(f"the sequence fails without a kill: {whole.stdout}{whole.stderr}")
# The experiment itself is long, and changes things only when a trial begins or ends: kills come as
# often in all that goes before as in its first seconds.
seconds = (time.monotonic() - began) + RUN_SECONDS
failures, changed, finished = 0, 0, 0
first = repaired(before, holder)
if first:
    sys.exit("not repaired without a kill: " + json.dumps(first))
for number in range(count):
    after = chance.uniform(0, seconds)
    script = subprocess.Popen(["sh", "-c", sequence(holder.pid)], start_new_session=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        script.wait(after)
        finished += 1
    except subprocess.TimeoutExpired:
        os.killpg(script.pid, signal.SIGKILL)
        script.wait()
    changed += state(holder) != before
    left = repaired(before, holder)
    if left:
        failures += 1
        print(json.dumps({"kill": number, "after_s": after, **left}), flush=True)
print(json.dumps({"kills": count, "restored": count - failures, "with_something_to_undo": changed,
                  "finished_before_the_kill": finished, "sequence_s": round(seconds, 1),
                  "with_group": has_group}), flush=True)
holder.kill()
sys.exit(0 if failures == 0 else 1)
