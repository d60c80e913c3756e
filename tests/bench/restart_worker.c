/* A worker of two attempts. In the first it says when it began in $STAMP_FILE, and rank 0, once all have, says when it
 * ends in $END_FILE and fails, while the others sleep. In the second it says when it began in $AGAIN_FILE, and ends
 * well. Times are CLOCK_MONOTONIC, 8 bytes, appended. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void stamp(const char* variable, int64_t when) {
  int file = open(getenv(variable), O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (file < 0 || write(file, &when, sizeof when) != sizeof when) _exit(3);
  close(file);
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static long stamps(void) {
  struct stat facts;
  return stat(getenv("STAMP_FILE"), &facts) == 0 ? facts.st_size / 8 : 0;
}

int main(void) {
  const int64_t began = now();
  struct stat facts;
  if (stat(getenv("END_FILE"), &facts) == 0) {
    stamp("AGAIN_FILE", began);
    return 0;
  }
  stamp("STAMP_FILE", began);
  if (strcmp(getenv("RANK"), "0") != 0) {
    sleep(600);
    return 4;
  }
  const struct timespec moment = {0, 1000000};
  while (stamps() < atol(getenv("WORLD_SIZE"))) nanosleep(&moment, NULL);
  nanosleep(&(struct timespec){1, 0}, NULL); /* until every agent is at rest */
  stamp("END_FILE", now());
  return 7;
}
