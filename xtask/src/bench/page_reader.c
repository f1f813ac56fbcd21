/* page_reader FILE SEED: reads all of random pages of a shared file, again and again, as sessions do
   that find their blocks in a buffer pool. At each SIGUSR1 it writes a line "READS P99 P999 LONGEST",
   the times in ns, of what it read since the last one. */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

/* A logarithmic histogram: 32 steps in each power of two, so a percentile is exact to 3 %. */
enum { STEPS = 32, PAGE = 4096 };
static uint64_t counts[64 * STEPS], reads, longest;
static volatile sig_atomic_t asked;

static void ask(int signal) { (void)signal; asked = 1; }

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int step_of(uint64_t ns) {
    if (ns < STEPS) return (int)ns;
    int power = 63 - __builtin_clzll(ns);
    return (power - 4) * STEPS + (int)((ns >> (power - 5)) & (STEPS - 1));
}

static uint64_t ns_of(int step) {
    if (step < STEPS) return (uint64_t)step;
    return (uint64_t)(STEPS + step % STEPS) << (step / STEPS - 1);
}

/* The time that one read in ONE_IN takes or exceeds. */
static unsigned long long slowest(uint64_t one_in) {
    uint64_t seen = 0;
    int step = 0;
    while (seen + counts[step] < reads - reads / one_in) seen += counts[step++];
    return ns_of(step);
}

static void answer(void) {
    printf("%llu %llu %llu %llu\n", (unsigned long long)reads, slowest(100), slowest(1000),
           (unsigned long long)longest);
    fflush(stdout);
    memset(counts, 0, sizeof counts);
    reads = longest = 0;
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    int file = open(arguments[1], O_RDWR);
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0) return 1;
    uint64_t pages = (uint64_t)status.st_size / PAGE, state = strtoull(arguments[2], NULL, 10) + 1;
    /* Writable, since the kernel does not balance what is mapped for reading only. */
    uint64_t *memory = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) return 1;
    volatile uint64_t sum = 0;
    for (uint64_t page = 0; page < pages; page++) sum += memory[page * PAGE / 8];
    signal(SIGUSR1, ask);
    for (;;) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        uint64_t *page = memory + state % pages * PAGE / 8, words = 0;
        uint64_t began = now_ns();
        for (int word = 0; word < PAGE / 8; word++) words += page[word];
        uint64_t ns = now_ns() - began;
        sum += words;
        counts[step_of(ns)]++, reads++;
        if (ns > longest) longest = ns;
        if (asked) asked = 0, answer();
    }
}
