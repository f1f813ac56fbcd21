"""Four processes hold eight huge pages of shared memory in one page table, which they share. They
read them again at SIGUSR1. The first writes READY when all have read them."""
import ctypes
import mmap
import os
import signal
import sys
import time

file = os.memfd_create("numalab-check", os.MFD_HUGETLB | os.MFD_HUGE_2MB)
os.ftruncate(file, 2 << 30)
memory = mmap.mmap(file, 2 << 30, mmap.MAP_SHARED | 0x4000)  # MAP_NORESERVE
first = -ctypes.addressof(ctypes.c_char.from_buffer(memory)) % (1 << 30)
first += -first % (16 << 20)  # numalab looks at 16 MiB together
places = range(first, first + (16 << 20), 2 << 20)


def read(*_):
    for place in places:
        memory[place]


signal.signal(signal.SIGUSR1, read)
for place in places:
    memory[place] = 1
started, finished = os.pipe()
for _ in range(3):
    if os.fork() == 0:
        read()
        os.write(finished, b"r")
        time.sleep(3600)
        os._exit(0)
for _ in range(3):
    os.read(started, 1)
with open(sys.argv[1], "w") as ready:
    ready.write("ready")
time.sleep(3600)
