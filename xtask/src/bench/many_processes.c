/* Shares a sparse object of BYTES among COUNT processes: the last has touched a page every STEP bytes
 * of the first TOUCHED, as a server's writer does, each other a little. Writes the id of the first
 * to READY when all wait: many_processes BYTES TOUCHED STEP COUNT READY. They end with the first. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static const size_t PAGE = 4096;
static const size_t OF_EACH = 1 << 20;

int main(int count, char **words)
{
    if (count != 6)
        return 2;
    size_t bytes = strtoull(words[1], 0, 10), touched = strtoull(words[2], 0, 10);
    size_t step = strtoull(words[3], 0, 10);
    int processes = atoi(words[4]), object = memfd_create("many-processes", 0), ready[2];
    if (object < 0 || ftruncate(object, (off_t)bytes) || pipe(ready))
        return 1;
    volatile char *memory = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                                 object, 0);
    if (memory == MAP_FAILED)
        return 1;
    for (size_t at = 0; at < OF_EACH; at += PAGE)
        memory[at] = 1;
    pid_t first = getpid();
    for (int number = 1; number < processes; number++) {
        pid_t child = fork();
        if (child < 0)
            return 1;
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() != first)
                _exit(1);
            int is_last = number + 1 == processes;
            for (size_t at = 0; at < (is_last ? touched : OF_EACH); at += is_last ? step : PAGE)
                memory[at] = 1;
            if (write(ready[1], "", 1) != 1)
                _exit(1);
            for (;;)
                pause();
        }
    }
    for (int number = 1; number < processes; number++) {
        char byte;
        if (read(ready[0], &byte, 1) != 1)
            return 1;
    }
    FILE *said = fopen(words[5], "w");
    if (!said)
        return 1;
    fprintf(said, "%d\n", first);
    fclose(said);
    for (;;)
        pause();
}
