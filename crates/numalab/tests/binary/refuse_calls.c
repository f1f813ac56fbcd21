/* Makes the kernel refuse system calls with EPERM (seccomp(2)), then executes another program.
   Arguments: numbers of the calls, separated by commas; the program; its arguments. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define CALLS_MAX 16

int main(int count, char **words) {
    struct sock_filter program[2 * CALLS_MAX + 2] = {
        /* The number of the call is the first word of struct seccomp_data. */
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
    };
    struct sock_fprog filter = {.len = 1, .filter = program};
    if (count < 3)
        return 111;
    for (char *number = strtok(words[1], ","); number; number = strtok(NULL, ",")) {
        struct sock_filter refuse[] = {
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, strtoul(number, NULL, 10), 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        };
        if (filter.len > 2 * CALLS_MAX)
            return 111;
        memcpy(program + filter.len, refuse, sizeof refuse);
        filter.len += 2;
    }
    program[filter.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
        perror("seccomp");
        return 111;
    }
    execvp(words[2], words + 2);
    perror(words[2]);
    return 111;
}
