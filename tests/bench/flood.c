/* A worker that writes as fast as it can, and the reader at the end of its way.
 *
 *   flood write FD BYTES BLOCK   writes lines of 100 bytes, BLOCK bytes a time, and so many bytes in all, to FD.
 *       Appends to $STAMP_FILE CLOCK_MONOTONIC of before the first one, and the processor time that it took itself, in
 *       nanoseconds of 8 bytes each.
 *   flood read                   reads standard input to its end. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
  kLine = 100,
  kMost = 1024 * 1024
};

static char buffer[kMost];

static int64_t time_of(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int write_all(int fd, const char* bytes, size_t size) {
  while (size > 0) {
    ssize_t done = write(fd, bytes, size);
    if (done <= 0) return 0;
    bytes += done;
    size -= (size_t)done;
  }
  return 1;
}

static int be_worker(int fd, int64_t left, size_t block) {
  const char* path = getenv("STAMP_FILE");
  if (path == NULL || block == 0 || block > sizeof buffer - kLine) return 2;
  memset(buffer, 'a', sizeof buffer);
  for (size_t end = kLine; end <= sizeof buffer; end += kLine) buffer[end - 1] = '\n';
  int64_t report[2] = {time_of(CLOCK_MONOTONIC), 0};
  for (size_t from = 0; left > 0; from = (from + block) % kLine) {
    size_t size = left < (int64_t)block ? (size_t)left : block;
    if (!write_all(fd, buffer + from, size)) return 1;
    left -= (int64_t)size;
  }
  report[1] = time_of(CLOCK_PROCESS_CPUTIME_ID);
  int file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
  return file >= 0 && write(file, report, sizeof report) == sizeof report ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc == 5 && strcmp(argv[1], "write") == 0)
    return be_worker(atoi(argv[2]), atoll(argv[3]), (size_t)atoll(argv[4]));
  if (argc != 2 || strcmp(argv[1], "read") != 0) return 2;
  while (read(STDIN_FILENO, buffer, sizeof buffer) > 0) {
  }
  return 0;
}
