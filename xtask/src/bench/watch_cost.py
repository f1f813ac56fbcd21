"""Prints the share of a core that `numalab watch` takes with many processes, and that of top(1).

Arguments: the binary of numalab, the number of processes, seconds. Both programs run at the same
time, each on a terminal of its own, at one picture per second. The CPU time is the kernel's
(/proc/PID/task/TID/schedstat), of all threads.
"""
import fcntl
import json
import os
import pty
import signal
import struct
import sys
import termios
import threading
import time

BINARY, COUNT, SECONDS = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
# Both have read every process once by then.
WARM_UP_S = 10


def sleeper():
    pid = os.fork()
    if pid == 0:
        # The benchmark may be killed: then nobody wakes it.
        time.sleep(SECONDS + 600)
        os._exit(0)
    return pid


def on_a_terminal(words):
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execvp(words[0], words)
    size = struct.pack("HHHH", 50, 120, 0, 0)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)
    threading.Thread(target=drain, args=(terminal,), daemon=True).start()
    return pid


def drain(terminal):
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:
        pass


def cpu_s(pid):
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/schedstat") as file:
            total += int(file.read().split()[0])
    return total / 1e9


sleepers = [sleeper() for _ in range(COUNT)]
programs = {"watch": [BINARY, "watch"], "top": ["top", "-d", "1"]}
pids = {}
try:
    pids = {name: on_a_terminal(words) for name, words in programs.items()}
    time.sleep(WARM_UP_S)
    start, before = time.monotonic(), {name: cpu_s(pid) for name, pid in pids.items()}
    time.sleep(SECONDS)
    after, passed = {name: cpu_s(pid) for name, pid in pids.items()}, time.monotonic() - start
    shares = {name: (after[name] - before[name]) / passed for name in pids}
    print(json.dumps(shares))
finally:
    for pid in list(pids.values()) + sleepers:
        os.kill(pid, signal.SIGKILL)
