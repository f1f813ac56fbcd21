"""Time of first touches with and without `numalab firsttouch`, in turns: A B B A.

Arguments: numalab, pairs, and the folder of PostgreSQL's programs. Prints a document with the
seconds of each turn: of a program that only touches pages, and of a server that reads a table into
its empty shared buffers (pg_prewarm).
"""
import json, os, signal, subprocess, sys, tempfile

NUMALAB, PAIRS, PROGRAMS = sys.argv[1], int(sys.argv[2]), sys.argv[3]

TOUCHES = """
import mmap, time
bytes = 128 << 20
memory = mmap.mmap(-1, bytes)
view, ones = memoryview(memory)[::4096], b"1" * (bytes // 4096)
started = time.perf_counter()
view[:] = ones
print(time.perf_counter() - started)
"""


def touching(is_on):
    """Seconds in which a program touches 128 MiB, one byte of each page."""
    look = [NUMALAB, "firsttouch", "--report", "/dev/null", "--"] if is_on else []
    words = look + [sys.executable, "-c", TOUCHES]
    return float(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)


class Server:
    """A PostgreSQL with a table that fits its shared buffers."""

    def __init__(self, folder):
        self.folder, self.data = folder, folder + "/data"
        user = {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}
        self.options = dict(cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **user)
        if user:
            os.chown(folder, 65534, 65534)
        self.call("initdb", "-U", "postgres", "--no-sync", "-D", self.data)
        with open(self.data + "/postgresql.conf", "a") as file:
            file.write("listen_addresses = ''\nshared_buffers = 256MB\nfsync = off\n"
                       f"autovacuum = off\nunix_socket_directories = '{folder}'\n")
        self.start()
        self.query("CREATE EXTENSION pg_prewarm")
        self.query("CREATE TABLE t AS SELECT g, repeat('x', 1000) FROM generate_series(1, 140000) g")
        self.stop()

    def call(self, program, *words):
        subprocess.run([os.path.join(PROGRAMS, program), *words], check=True, **self.options)

    def start(self):
        self.call("pg_ctl", "-D", self.data, "-w", "-l", self.folder + "/log", "start")

    def stop(self):
        self.call("pg_ctl", "-D", self.data, "-m", "fast", "-w", "stop")

    def query(self, sql):
        words = ["-h", self.folder, "-U", "postgres", "-XAt", "-c", sql, "postgres"]
        psql = [os.path.join(PROGRAMS, "psql"), *words]
        options = {**self.options, "stdout": subprocess.PIPE}
        return subprocess.run(psql, check=True, **options).stdout.decode()

    def reading(self, is_on):
        """Seconds in which it reads the table into empty buffers."""
        self.start()
        look = None
        if is_on:
            words = [NUMALAB, "firsttouch", "postgres:" + self.data, "--report", "/dev/null"]
            look = subprocess.Popen(words, stderr=subprocess.PIPE)
            look.stderr.readline()
        # The session's own start is not measured.
        times = self.query("SELECT extract(epoch FROM b - a) FROM (SELECT clock_timestamp() AS a, "
                           "pg_prewarm('t') AS n, clock_timestamp() AS b OFFSET 0) s")
        if look:
            look.send_signal(signal.SIGINT)
            look.wait()
        self.stop()
        return float(times)


def turns(measure):
    """Turns in the order A B B A, after one of each that does not count."""
    measure(False), measure(True)
    return [[turn % 4 in (1, 2), measure(turn % 4 in (1, 2))] for turn in range(2 * PAIRS)]


with tempfile.TemporaryDirectory() as folder:
    os.chmod(folder, 0o755)
    server = Server(folder)
    print(json.dumps({"touching": turns(touching), "reading": turns(server.reading)}))
