/* A worker that plays what a test has composed for its rank: it writes pieces of the files out.RANK and err.RANK of
 * PLAYER_FOLDER to its standard output and standard error, pauses, waits for the test, and dies.
 *
 * The file plan.RANK holds the operations, pairs of 32-bit numbers. The file notes.RANK is shared memory: what was
 * begun and done is noted around each write, so that it is known however the worker dies. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { WRITE_OUT, WRITE_ERR, PAUSE, EXIT, RAISE, GATE, DEAF, FORK };

struct operation {
  uint32_t kind, argument; /* bytes, microseconds, exit code, signal, number of the gate, -, exit code of the parent */
};

struct notes {
  volatile uint64_t begun[2], done[2]; /* bytes of each stream */
  volatile uint64_t reached, opened;   /* the gate that the worker has come to; the last one that the test has opened */
  volatile uint64_t ended, count;      /* 1 as the last act before an exit; how many writes follow */
  struct {
    volatile uint64_t stream, offset, began, ended; /* of a write; nanoseconds, 0: it never returned */
  } writes[];
};

static void *map(const char *name, int flags, size_t *size) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s.%s", getenv("PLAYER_FOLDER"), name, getenv("RANK"));
  int file = open(path, flags == PROT_READ ? O_RDONLY | O_CLOEXEC : O_RDWR | O_CLOEXEC);
  struct stat status;
  if (file < 0 || fstat(file, &status) < 0) exit(99);
  *size = (size_t)status.st_size;
  if (status.st_size == 0) return NULL;
  void *memory = mmap(NULL, *size, flags, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) exit(99);
  close(file);
  return memory;
}

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void note_and_write(struct notes *notes, uint32_t stream, const char *data, uint32_t size) {
  uint64_t offset = notes->done[stream], end = offset + size, number = notes->count;
  notes->writes[number].stream = stream;
  notes->writes[number].offset = offset;
  notes->writes[number].began = now();
  notes->count = number + 1;
  notes->begun[stream] = end;
  while (offset < end) {
    ssize_t written = write((int)stream + 1, data + offset, end - offset);
    if (written < 0) _exit(98);
    offset += (uint64_t)written;
    notes->done[stream] = offset;
  }
  notes->writes[number].ended = now();
}

int main(void) {
  size_t size, ignored;
  const struct operation *plan = map("plan", PROT_READ, &size);
  const char *const data[2] = {map("out", PROT_READ, &ignored), map("err", PROT_READ, &ignored)};
  struct notes *notes = map("notes", PROT_READ | PROT_WRITE, &ignored);
  for (const struct operation *next = plan; next < plan + size / sizeof *plan; ++next) {
    switch (next->kind) {
      case WRITE_OUT:
      case WRITE_ERR:
        note_and_write(notes, next->kind, data[next->kind], next->argument);
        break;
      case PAUSE:
        usleep(next->argument);
        break;
      case EXIT:
        notes->ended = 1;
        _exit((int)next->argument);
      case RAISE:
        raise((int)next->argument);
        break;
      case GATE:
        notes->reached = next->argument;
        while (notes->opened < next->argument) usleep(1000);
        break;
      case DEAF:
        signal(SIGTERM, SIG_IGN);
        break;
      case FORK: /* the rest is played by an orphan */
        if (fork() != 0) _exit((int)next->argument);
        break;
      default:
        _exit(97);
    }
  }
  notes->ended = 1;
  _exit(0);
}
