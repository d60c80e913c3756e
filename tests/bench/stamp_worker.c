/* A worker that does nothing but say when it began: CLOCK_MONOTONIC as 8 bytes, appended to $STAMP_FILE. It ends with
 * the exit code that is its argument, or 0. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char** argv) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  int64_t stamp = now.tv_sec * 1000000000LL + now.tv_nsec;
  const char* path = getenv("STAMP_FILE");
  if (path == NULL) return 2;
  int file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
  return file >= 0 && write(file, &stamp, sizeof stamp) == sizeof stamp ? (argc > 1 ? atoi(argv[1]) : 0) : 2;
}
