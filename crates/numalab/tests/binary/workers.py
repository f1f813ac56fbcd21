"""Two processes that are never idle. The first writes how much both have done to FILE, a counter."""
import mmap
import os
import struct
import sys
import time

path = sys.argv[1]
done_by = mmap.mmap(-1, 16)
slot = 0 if os.fork() else 1
done, written = 0, 0.0
while True:
    for _ in range(5000):
        pass
    done += 1
    struct.pack_into("Q", done_by, 8 * slot, done)
    if slot == 0 and time.monotonic() > written + 0.02:
        with open(path + ".new", "w") as file:
            file.write(f"{sum(struct.unpack('QQ', done_by))}\n")
        os.replace(path + ".new", path)
        written = time.monotonic()
