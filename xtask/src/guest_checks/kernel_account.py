"""Runs the command in sys.argv[2:] and polls what the kernel says about it: memory with a policy
(/proc/PID/numa_maps), and the CPUs that its threads may use. Writes to sys.argv[1] the CPUs of each
node, and each distinct look:

node 0 0-1
look
map bind:1 anon=16 dirty=16 N1=16 kernelpagesize_kB=4
cpus 0

On a busy host a guest has time for few looks. The command runs again, only to be looked at, if
there are fewer than eight looks, equal ones included, for each pair of nodes that could be
measured, or if two nodes were seen but never together.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile
import time

MAPPING = re.compile(rb"^[0-9a-f]+ ((?:bind|interleave|prefer).*)$", re.M)
HOMES = re.compile(rb" N(\d+)=")
ALLOWED = re.compile(rb"^Cpus_allowed_list:\s*(\S+)$", re.M)

# With more pairs, only the nodes are compared with what was measured.
PAIRS_MAX = 16


def read(path):
    """Reads a file of a process or thread, which may be gone."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def cpus_of_threads(pid):
    """Returns the CPUs that each thread may use."""
    found = set()
    for path in glob.glob(f"/proc/{pid}/task/[0-9]*/status"):
        found.update((path, cpus) for cpus in ALLOWED.findall(read(path)))
    return found


def look_at(command, seen):
    """Looks at a command until it has ended; returns its exit status and the number of looks."""
    looks = 0
    while command.poll() is None:
        before = cpus_of_threads(command.pid)
        memory = frozenset(MAPPING.findall(read(f"/proc/{command.pid}/numa_maps")))
        if memory:
            # Threads whose CPUs were the same before and after.
            cpus = before & cpus_of_threads(command.pid)
            seen.add((memory, frozenset(cpus for _, cpus in cpus)))
            looks += 1
        time.sleep(0.001)
    return command.returncode, looks


def ids_of(text):
    """Returns the numbers of a list such as 0-1,4."""
    ids = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        ids.update(range(int(first), int(last or first) + 1) if first else [])
    return ids


def pairs_missed(seen, node_of_cpu):
    """Counts pairs of nodes, one seen by its CPU and one by its memory, but never together."""
    together = set()
    for memory, cpus in seen:
        alone = [ids_of(one.decode()) for one in cpus]
        nodes = {node_of_cpu.get(min(ids)) for ids in alone if len(ids) == 1}
        homes = {int(node) for line in memory for node in HOMES.findall(line)}
        together.update((node, home) for node in nodes for home in homes)
    sides = [{pair[side] for pair in together} for side in (0, 1)]
    pairs = len(sides[0]) * len(sides[1])
    return pairs - len(together) if pairs <= PAIRS_MAX else 0


with open(sys.argv[1], "w") as account:
    with_cpus = with_memory = 0
    node_of_cpu = {}
    for node in glob.glob("/sys/devices/system/node/node[0-9]*"):
        cpus = read(node + "/cpulist").decode().strip()
        number = node.rsplit("node")[-1]
        print("node", number, cpus, file=account)
        node_of_cpu.update((cpu, int(number)) for cpu in ids_of(cpus))
        with_cpus += bool(cpus)
        with_memory += not re.search(rb"MemTotal:\s+0 kB", read(node + "/meminfo"))
    wanted = 8 * min(with_cpus * with_memory, PAIRS_MAX)
    seen = set()
    ended, looks = look_at(subprocess.Popen(sys.argv[2:]), seen)
    for again in range(12):
        has_few = again < 4 and looks < wanted
        if ended == 0 and (has_few or pairs_missed(seen, node_of_cpu)):
            # Its runs are stored elsewhere: the last stored run must be that of the document.
            kept = {**os.environ, "XDG_STATE_HOME": tempfile.mkdtemp()}
            command = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL, env=kept)
            ended, more = look_at(command, seen)
            looks += more
    for memory, cpus in seen:
        print("look", file=account)
        for line in memory:
            print("map", line.decode(), file=account)
        for one in cpus:
            print("cpus", one.decode(), file=account)
sys.exit(ended)
