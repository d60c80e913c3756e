/* A worker that says when it began and who it is, and stays until it is let go.
 *
 * Appends to $STAMP_FILE CLOCK_MONOTONIC as 8 bytes, and $RANK and $WORLD_SIZE as 4 bytes each. Then it waits until
 * nobody has the pipe $HOLD_PIPE open for writing any more, so it ends with whoever started it. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct Stamp {
  int64_t began;
  int32_t rank, world;
};

int main(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const char *path = getenv("STAMP_FILE"), *held = getenv("HOLD_PIPE");
  const char *rank = getenv("RANK"), *world = getenv("WORLD_SIZE");
  if (path == NULL || held == NULL || rank == NULL || world == NULL) return 2;
  struct Stamp stamp = {now.tv_sec * 1000000000LL + now.tv_nsec, atoi(rank), atoi(world)};
  /* The pipe first: who has read our stamp may close it. */
  int hold = open(held, O_RDONLY), file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (hold < 0 || file < 0 || write(file, &stamp, sizeof stamp) != sizeof stamp) return 1;
  char byte;
  return read(hold, &byte, 1) == 0 ? 0 : 1;
}
