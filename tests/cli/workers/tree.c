/* A worker with a family that is hard to find and hard to end: sessions and groups of their own, double forks, deaf to
 * signals, stopped, zombies that nobody collects, other programs with an empty environment, and a bounded fork bomb.
 *
 * Usage: tree SEED LIMIT. At most LIMIT processes at all; above 200 they fork without end until then. When the family
 * stands, the worker's pid is in the file up.RANK of TEST_FOLDER; it ends with the code in the file end.RANK as soon as
 * that is there. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static atomic_int *count;
static int limit;
static uint64_t state;

static unsigned chance(unsigned of) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (unsigned)(state >> 20) % of;
}

static pid_t child(unsigned salt) {
  if (atomic_fetch_add(count, 1) >= limit) return -1;
  pid_t pid = fork();
  if (pid == 0) state = (state + salt + 1) * 0x9E3779B97F4A7C15u | 1;
  return pid;
}

static void stay(void) {
  if (chance(8) == 0) {
    char *const argv[] = {"sleep", "1000", NULL}, *const env[] = {NULL};
    execve("/bin/sleep", argv, env);
  }
  if (chance(8) == 0) raise(SIGSTOP);
  for (;;) pause();
}

static void bomb(void) {
  for (;;) {
    pid_t pid = child(1);
    if (pid < 0) stay();
    if (pid == 0 && chance(2)) setsid();
  }
}

static void grow(int depth) {
  if (chance(3) == 0) setsid();
  if (chance(4) == 0) setpgid(0, 0);
  if (chance(3) == 0)
    for (int number = 1; number < 32; ++number) signal(number, SIG_IGN);
  if (limit > 200 && chance(2)) bomb();
  unsigned children = depth < 4 ? chance(4) : 0;
  for (unsigned number = 0; number < children; ++number) {
    unsigned kind = chance(5);
    if (child(number) != 0) continue;
    if (kind == 0) _exit(0); /* a zombie, or our reaper's */
    if (kind == 1 && child(7) != 0) _exit(0); /* its child has no parent any more */
    grow(depth + 1);
    stay();
  }
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  const char *folder = getenv("TEST_FOLDER"), *rank = getenv("RANK");
  limit = atoi(argv[2]);
  state = (strtoull(argv[1], NULL, 10) * 1000 + strtoull(rank, NULL, 10) + 1) * 0x9E3779B97F4A7C15u | 1;
  count = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (count == MAP_FAILED) return 3;
  int deaf = chance(4) == 0;
  if (deaf) signal(SIGTERM, SIG_IGN), signal(SIGINT, SIG_IGN);
  for (int number = 0; number < 3; ++number)
    if (child((unsigned)number) == 0) {
      grow(1);
      stay();
    }
  char name[4096];
  snprintf(name, sizeof name, "%s/up.%s", folder, rank);
  FILE *up = fopen(name, "w");
  fprintf(up, "%d", (int)getpid());
  fclose(up);
  snprintf(name, sizeof name, "%s/end.%s", folder, rank);
  for (;;) {
    FILE *end = fopen(name, "r");
    int code;
    if (end != NULL && fscanf(end, "%d", &code) == 1) _exit(code);
    if (end != NULL) fclose(end);
    nanosleep(&(struct timespec){0, 5000000}, NULL);
  }
}
