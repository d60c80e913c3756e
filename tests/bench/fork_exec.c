/* fork_exec N PROGRAM: the least that a launcher must do. Starts the program N times, then waits for all. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  int count = atoi(argv[1]);
  for (int i = 0; i < count; ++i) {
    pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) {
      execve(argv[2], argv + 2, environ);
      _exit(127);
    }
  }
  int failed = 0, status;
  while (wait(&status) > 0) failed |= status != 0;
  return failed;
}
