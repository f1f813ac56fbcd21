/* Whether the latency of a part of a working set is that of the whole, in the same memory: they
 * differ in nothing but what caches do for their size. Independent of numalab's kernels: one loop,
 * the kernel's clock. chase.h goes before it.
 *
 * part_chase CPU PART WHOLE GROUP TURNS SEED: pins itself to the CPU and links every line of WHOLE
 * bytes of fresh memory (huge pages if the kernel provides them) twice: into a random cycle through
 * all, and into one through the first PART bytes. A cycle goes through GROUP bytes after GROUP bytes,
 * in random order within each. A turn does the same with both cycles, the first of which changes: it
 * goes round with 16 loads at once, follows the first group for SETTLE loads, and times windows of
 * dependent loads. Prints the median windows of part and whole in ns per load for each turn.
 *
 * Without the SETTLE loads, a virtual machine whose host maps pages of 4 KiB measures how much of
 * the host's page tables a lap leaves in the caches: those of 128 MiB are 4096 lines, of which
 * random loads leave out e^(-SETTLE / 4096), one in 130. */
enum { LINE = 64, WINDOWS = 25, LOADS = 1500, SETTLE = 20000, WAYS = 16 };

struct line {
    struct line *next[2]; /* in the whole, in the part */
    char unused[LINE - 2 * sizeof(struct line *)];
};

/* One cycle, and lines in it as far from one another as can be. */
struct cycle {
    int which;
    size_t lines;
    struct line *starts[WAYS];
};

/* Links a cycle that begins in the first of its groups. */
static struct cycle linked(int which, struct line *memory, size_t lines, size_t group, uint32_t *order) {
    struct cycle cycle = { .which = which, .lines = lines };
    struct line *last = 0;
    for (size_t done = 0; done < lines; done += group) {
        size_t count = lines - done < group ? lines - done : group;
        shuffled(order, count);
        for (size_t line = 0; line < count; line++) {
            struct line *at = memory + done + order[line];
            for (int way = 0; way < WAYS; way++)
                if (done + line == lines / WAYS * way) cycle.starts[way] = at;
            if (last) last->next[which] = at;
            last = at;
        }
    }
    last->next[which] = cycle.starts[0];
    return cycle;
}

static struct line *volatile kept;

static double measured(const struct cycle *cycle) {
    int which = cycle->which;
    struct line *from = cycle->starts[0];
    struct line *at[WAYS];
    for (int way = 0; way < WAYS; way++) at[way] = cycle->starts[way];
    for (size_t load = 0; load < cycle->lines / WAYS; load++)
        for (int way = 0; way < WAYS; way++) at[way] = at[way]->next[which];
    for (int way = 0; way < WAYS; way++) kept = at[way];
    for (int load = 0; load < SETTLE; load++) from = from->next[which];
    double windows[WINDOWS];
    for (int window = 0; window < WINDOWS; window++) {
        double begin = now_ns();
        for (int load = 0; load < LOADS; load++) from = from->next[which];
        windows[window] = (now_ns() - begin) / LOADS;
    }
    kept = from;
    qsort(windows, WINDOWS, sizeof *windows, ascending);
    return windows[WINDOWS / 2];
}

int main(int count, char **words) {
    if (count != 7) return 2;
    if (!pinned(words[1])) return 3;
    size_t part = strtoull(words[2], 0, 10) / LINE, whole = strtoull(words[3], 0, 10) / LINE;
    size_t group = strtoull(words[4], 0, 10) / LINE;
    int turns = atoi(words[5]);
    state = strtoull(words[6], 0, 10);
    struct line *memory = fresh(whole * LINE);
    uint32_t *order = malloc(group * sizeof *order);
    if (!memory || !order || part > whole) return 4;
    struct cycle all = linked(0, memory, whole, group, order);
    struct cycle some = linked(1, memory, part, group, order);
    for (int turn = 0; turn < turns; turn++) {
        double ns[2];
        const struct cycle *cycles[2] = { &all, &some };
        for (int step = 0; step < 2; step++) {
            int which = (turn + step) & 1;
            ns[which] = measured(cycles[which]);
        }
        printf("%.3f %.3f\n", ns[1], ns[0]);
    }
    return 0;
}
