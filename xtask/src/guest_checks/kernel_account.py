"""Runs the command in sys.argv[2:] and looks again and again at what the kernel says of it: memory
with a policy (/proc/PID/numa_maps), and the CPUs that its threads may use. Writes to sys.argv[1]
the CPUs of each node, and each look that is unlike all others:

node 0 0-1
look
map bind:1 anon=16 dirty=16 N1=16 kernelpagesize_kB=4
cpus 0

On a busy host a guest has time for few looks. Where they are fewer than eight for each pair of
nodes that could be measured, the command is run again, for its looks alone.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile
import time

MAPPING = re.compile(rb"^[0-9a-f]+ ((?:bind|interleave|prefer).*)$", re.M)
ALLOWED = re.compile(rb"^Cpus_allowed_list:\s*(\S+)$", re.M)


def read(path):
    """A file of a process or thread, which may be gone."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def cpus_of_threads(pid):
    """The CPUs that each thread may use."""
    found = set()
    for path in glob.glob(f"/proc/{pid}/task/[0-9]*/status"):
        found.update((path, cpus) for cpus in ALLOWED.findall(read(path)))
    return found


def look_at(command, seen):
    """Looks at a command until it has ended, and answers how."""
    while command.poll() is None:
        before = cpus_of_threads(command.pid)
        memory = frozenset(MAPPING.findall(read(f"/proc/{command.pid}/numa_maps")))
        if memory:
            # Threads that were so before and after.
            cpus = before & cpus_of_threads(command.pid)
            seen.add((memory, frozenset(cpus for _, cpus in cpus)))
        time.sleep(0.001)
    return command.returncode


with open(sys.argv[1], "w") as account:
    with_cpus = with_memory = 0
    for node in glob.glob("/sys/devices/system/node/node[0-9]*"):
        cpus = read(node + "/cpulist").decode().strip()
        print("node", node.rsplit("node")[-1], cpus, file=account)
        with_cpus += bool(cpus)
        with_memory += not re.search(rb"MemTotal:\s+0 kB", read(node + "/meminfo"))
    wanted = 8 * min(with_cpus * with_memory, 16)
    seen = set()
    ended = look_at(subprocess.Popen(sys.argv[2:]), seen)
    for _ in range(4):
        if ended == 0 and len(seen) < wanted:
            # Its runs are kept elsewhere: the last one is that of the document.
            kept = {**os.environ, "XDG_STATE_HOME": tempfile.mkdtemp()}
            again = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL, env=kept)
            ended = look_at(again, seen)
    for memory, cpus in seen:
        print("look", file=account)
        for line in memory:
            print("map", line.decode(), file=account)
        for one in cpus:
            print("cpus", one.decode(), file=account)
sys.exit(ended)
