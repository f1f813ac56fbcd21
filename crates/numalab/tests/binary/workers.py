"""Two processes that work, and write how much both have done to FILE, a counter. Each does a
thousand units a second of its time, and three thousand while it may use CPU, if one is given:
whatever else the machine does, that one is better."""
import mmap
import os
import struct
import sys
import time

path, fast = sys.argv[1], {int(cpu) for cpu in sys.argv[2:]}
done_by = mmap.mmap(-1, 16)
slot = 0 if os.fork() else 1
done, before = 0.0, time.monotonic()
while True:
    now = time.monotonic()
    done += (now - before) * (3000 if fast & os.sched_getaffinity(0) else 1000)
    before = now
    struct.pack_into("Q", done_by, 8 * slot, int(done))
    if slot == 0:
        with open(path + ".new", "w") as file:
            file.write(f"{sum(struct.unpack('QQ', done_by))}\n")
        os.replace(path + ".new", path)
    time.sleep(0.02)
