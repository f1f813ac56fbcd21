"""Prints the transactions per second of a PostgreSQL, alone and with numalab beside it, in turns.

Arguments: the binary of numalab, the folder of PostgreSQL's programs, seconds. `pgbench -S` reads a
cached table in two sessions without a break; `numalab watch --json` and `numalab serve`, whose live
page is read every second, are stopped (SIGSTOP) in every other second, in the order A B B A.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

BINARY, PROGRAMS, SECONDS = sys.argv[1], sys.argv[2], int(sys.argv[3])
PORT, SERVED = "54398", "127.0.0.1:17755"
NOBODY = 65534
WARM_UP_LINES = 5

folder = tempfile.mkdtemp()
data = os.path.join(folder, "data")
as_user = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups"]
as_user = as_user if os.getuid() == 0 else []
if as_user:
    os.chmod(folder, 0o755)
    os.mkdir(data)
    os.chown(data, NOBODY, NOBODY)


def postgresql(name, *words, **options):
    command = as_user + [os.path.join(PROGRAMS, name), *words]
    return subprocess.Popen(command, cwd="/", **options)


def run(name, *words):
    done = postgresql(name, *words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = done.communicate()[0].decode()
    if done.returncode != 0:
        sys.exit(f"{name} {words}: {said}")


def read_page(is_on):
    while True:
        if is_on.is_set():
            try:
                urllib.request.urlopen(f"http://{SERVED}/live", timeout=5).read()
            except OSError:
                pass
        time.sleep(1)


ours, load = [], None
settings = f"-c listen_addresses= -c unix_socket_directories={data} -c port={PORT} -c fsync=off"
client = ["-h", data, "-p", PORT, "-U", "postgres"]
try:
    run("initdb", "-U", "postgres", "--no-sync", "-D", data)
    run("pg_ctl", "-w", "-D", data, "-o", settings, "-l", f"{data}/log", "start")
    run("pgbench", *client, "-i", "-q", "-s", "5", "postgres")
    null = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    environment = dict(os.environ, XDG_STATE_HOME=folder)
    for words in (["watch", "--json"], ["serve", "--listen", SERVED]):
        ours.append(subprocess.Popen([BINARY, *words], env=environment, **null))
    is_on = threading.Event()
    is_on.set()
    threading.Thread(target=read_page, args=(is_on,), daemon=True).start()
    words = [*client, "-n", "-S", "-c", "2", "-T", str(SECONDS), "-P", "1", "postgres"]
    load = postgresql("pgbench", *words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    found, lines = [], 0
    for line in load.stderr:
        progress = re.match(rb"progress: [\d.]+ s, ([\d.]+) tps", line)
        if not progress:
            continue
        lines += 1
        if any(process.poll() is not None for process in ours):
            sys.exit("numalab has ended")
        if lines > WARM_UP_LINES:
            found.append([is_on.is_set(), float(progress.group(1))])
        # The next second: A B B A A B B A.
        wanted = (lines - WARM_UP_LINES) % 4 in (1, 2)
        is_on.set() if wanted else is_on.clear()
        for process in ours:
            process.send_signal(signal.SIGCONT if wanted else signal.SIGSTOP)
    print(json.dumps(found))
finally:
    for process in ours + ([load] if load else []):
        process.kill()
    if os.path.exists(f"{data}/postmaster.pid"):
        run("pg_ctl", "-w", "-D", data, "-m", "immediate", "stop")
    shutil.rmtree(folder, ignore_errors=True)
