/* The latency of a working set, as lat_mem_rd measures it (a chain of dependent loads), but in
 * random order, which prefetchers cannot follow. Independent of numalab's kernels, to be compared
 * with them: one loop, the kernel's clock. chase.h goes before it.
 *
 * plain_chase CPU BYTES SEED: pins itself to the CPU, links every line of BYTES of fresh memory
 * (huge pages if the kernel provides them) into one random cycle, goes round once, and prints the
 * median over 51 windows, in ns per load, and the bytes in huge pages. */
enum { LINE = 64, WINDOWS = 51, LOADS = 1500 };

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
    if (!pinned(words[1])) return 3;
    size_t bytes = strtoull(words[2], 0, 10), lines = bytes / LINE;
    state = strtoull(words[3], 0, 10);
    char *memory = fresh(bytes);
    uint32_t *order = malloc(lines * sizeof *order);
    if (!memory || !order) return 4;
    shuffled(order, lines);
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
