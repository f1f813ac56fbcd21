"""Allocates MIB MiB of memory in FILE (a path, 'memfd', or 'memfd-huge' for pages of 2 MiB: a
shared segment; 'private' or 'private-huge': private memory), attaches COUNT processes to it that
read all of it, writes its process id to READY, and waits to be killed. Each of them reads all of it
again at SIGUSR1."""
import mmap
import os
import signal
import sys
import time

mib, count, name, ready = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
descriptor, flags = -1, mmap.MAP_SHARED
# Flags of mmap(2) that Python does not know: MAP_NORESERVE, so that the kernel does not merge the
# mapping with another one; and pages of 2 MiB.
PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000
HUGE = 0x40000 | 21 << 26
if name == "memfd":
    descriptor = os.memfd_create("numalab-check")
elif name == "memfd-huge":
    descriptor = os.memfd_create("numalab-check", os.MFD_HUGETLB | os.MFD_HUGE_2MB)
elif name == "private":
    flags = PRIVATE
elif name == "private-huge":
    flags = PRIVATE | HUGE
else:
    descriptor = os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
if descriptor >= 0:
    os.ftruncate(descriptor, mib << 20)
memory = mmap.mmap(descriptor, mib << 20, flags)
block = b"x" * (1 << 20)
for offset in range(0, mib << 20, 1 << 20):
    memory[offset:offset + (1 << 20)] = block
page = 1 << 21 if name.endswith("-huge") else 4096


def read_all(*_):
    for offset in range(0, mib << 20, page):
        memory[offset]


signal.signal(signal.SIGUSR1, read_all)
started, finished = os.pipe()
for _ in range(count - 1):
    if os.fork() == 0:
        read_all()
        os.write(finished, b"r")
        time.sleep(3600)
        os._exit(0)
for _ in range(count - 1):
    os.read(started, 1)
with open(ready, "w") as file:
    file.write(str(os.getpid()))
time.sleep(3600)
