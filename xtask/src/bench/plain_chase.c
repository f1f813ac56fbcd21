/* The latency of a working set, as lat_mem_rd measures it (a chain of dependent loads), but in
 * random order, which prefetchers cannot follow. Independent of numalab's kernels, to be compared
 * with them: one file, one loop, the kernel's clock.
 *
 * plain_chase CPU BYTES SEED: pins itself to the CPU, links every line of BYTES of fresh memory
 * (huge pages if the kernel provides them) into one random cycle, goes round once, and prints the
 * median over 51 windows, in ns per load, and the bytes in huge pages. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { LINE = 64, WINDOWS = 51, LOADS = 1500 };

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

/* Bytes of this process in transparent huge pages. */
static unsigned long long huge_bytes(void) {
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    unsigned long long kib = 0;
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "AnonHugePages: %llu", &kib) == 1) break;
    return kib << 10;
}

int main(int count, char **words) {
    if (count != 4) return 2;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(atoi(words[1]), &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus)) return 3;
    size_t bytes = strtoull(words[2], 0, 10), lines = bytes / LINE;
    state = strtoull(words[3], 0, 10);
    const size_t huge = 2 << 20;
    char *memory = mmap(0, bytes + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint32_t *order = malloc(lines * sizeof *order);
    if (memory == MAP_FAILED || !order) return 4;
    memory += huge - (uintptr_t)memory % huge;
    madvise(memory, bytes, MADV_HUGEPAGE);
    for (size_t line = 0; line < lines; line++) order[line] = line;
    for (size_t line = lines - 1; line > 0; line--) {
        size_t other = next() % (line + 1);
        uint32_t kept = order[line];
        order[line] = order[other], order[other] = kept;
    }
    for (size_t line = 0; line < lines; line++)
        *(void **)(memory + (size_t)order[line] * LINE) = memory + (size_t)order[(line + 1) % lines] * LINE;
    free(order);
    void **at = (void **)memory;
    for (size_t line = 0; line < lines; line++) at = *at;
    static double windows[WINDOWS];
    size_t loads = lines < LOADS ? LOADS * 20 : LOADS;
    for (int window = 0; window < WINDOWS; window++) {
        double begin = now_ns();
        for (size_t load = 0; load < loads; load++) at = *at;
        windows[window] = (now_ns() - begin) / loads;
    }
    qsort(windows, WINDOWS, sizeof *windows, ascending);
    /* Print the pointer so that the compiler keeps the chase. */
    printf("%.3f %llu %p\n", windows[WINDOWS / 2], huge_bytes(), (void *)at);
    return 0;
}
