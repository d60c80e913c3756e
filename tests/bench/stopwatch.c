/* stopwatch COMMAND...: starts the command and prints the CLOCK_MONOTONIC nanoseconds of just before, then of its end.
 *
 * A small program does this, since a fork of the benchmark's own interpreter would cost more than what is measured. */
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  long long start = now();
  pid_t child = fork();
  if (child == 0) {
    execvp(argv[1], argv + 1);
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return 1;
  printf("%lld %lld\n", start, now());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
