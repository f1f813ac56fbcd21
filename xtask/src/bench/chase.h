/* What the chases share: random numbers, the kernel's clock, and the order of windows. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static uint64_t state;

/* splitmix64 (public domain algorithm, Steele, Lea, Flood 2014). */
static uint64_t next(void) {
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Puts the numbers of lines from 0 on in random order. */
static void shuffled(uint32_t *order, size_t lines) {
    for (size_t line = 0; line < lines; line++) order[line] = line;
    for (size_t line = lines - 1; line > 0; line--) {
        size_t other = next() % (line + 1);
        uint32_t kept = order[line];
        order[line] = order[other], order[other] = kept;
    }
}

/* Pins this process to a CPU. */
static int pinned(const char *cpu) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(atoi(cpu), &cpus);
    return sched_setaffinity(0, sizeof cpus, &cpus) == 0;
}

/* Fresh memory that begins with a huge page, in huge pages if the kernel provides them. */
static void *fresh(size_t bytes) {
    const size_t huge = 2 << 20;
    char *memory = mmap(0, bytes + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 0;
    memory += huge - (uintptr_t)memory % huge;
    madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}
