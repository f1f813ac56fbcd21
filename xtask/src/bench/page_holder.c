/* page_holder MIB COUNT KIND READY: has MIB MiB of shared memory (KIND memfd, memfd-huge for pages of
   2 MiB, or the path of a new file) mapped in COUNT processes, writes its process id to READY once all of them have read it,
   and waits to be killed. Each of them reads all of it again at SIGUSR1. It has hardly any private
   memory, which migratepages moves, too. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/memfd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static volatile char *memory;
static size_t bytes, page;

static void read_all(int signal) {
    (void)signal;
    for (size_t at = 0; at < bytes; at += page) (void)memory[at];
}

static void hold(void) {
    for (;;) pause();
}

int main(int count, char **arguments) {
    if (count != 5) return 2;
    bytes = strtoull(arguments[1], NULL, 10) << 20;
    int is_huge = strcmp(arguments[3], "memfd-huge") == 0, processes = atoi(arguments[2]), ready[2];
    page = is_huge ? 2 << 20 : 4096;
    int file = arguments[3][0] == '/'
        ? open(arguments[3], O_RDWR | O_CREAT | O_EXCL, 0600)
        : memfd_create("numalab-bench", is_huge ? MFD_HUGETLB | MFD_HUGE_2MB : 0);
    if (file < 0 || ftruncate(file, (off_t)bytes) != 0 || pipe(ready) != 0) return 1;
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) return 1;
    memset((void *)memory, 'x', bytes);
    signal(SIGUSR1, read_all);
    for (int other = 1; other < processes; other++) {
        if (fork() != 0) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        read_all(0);
        if (write(ready[1], "r", 1) != 1) return 1;
        hold();
    }
    char word;
    for (int other = 1; other < processes; other++)
        if (read(ready[0], &word, 1) != 1) return 1;
    FILE *said = fopen(arguments[4], "w");
    if (said == NULL) return 1;
    fprintf(said, "%d\n", getpid());
    fclose(said);
    hold();
}
