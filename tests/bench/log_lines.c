/* The two ends of the way that a launcher carries its workers' lines: a worker that writes them, a console that checks.
 *
 *   log_lines write FOLDER LINES PACE
 *       PACE: batches (of 64 KiB, as stdio writes to a file), lines (a write each), paced (the same, 1,000 a second).
 *       Appends the time to FOLDER/ready, passes FOLDER/start once that FIFO has a writer, writes its lines, appends
 *       the time to FOLDER/ready again, and ends once FOLDER/end has a writer.
 *
 *   log_lines read WORKERS LINES QUIET [PREFIX...]
 *       Prints the time of the last arrival, once each line of each worker is there or nothing has come for QUIET ms.
 *       At the end: whole lines, torn, doubled, disordered, and median and 99th percentile of their nanoseconds on the
 *       way. A line is whole with its worker's prefix before it, or, where none are named, whatever stands there.
 *
 * Times are CLOCK_MONOTONIC in nanoseconds. */
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
  kRankDigits = 2,
  kNumberDigits = 10,
  kStampDigits = 19,
  kBatch = 64 * 1024
};

/* 100 bytes; the number stands at both ends and the filler is the worker's own, so that no two pieces make a line. */
struct Line {
  char rank[kRankDigits], number[kNumberDigits], stamp[kStampDigits], filler[58], again[kNumberDigits], end;
};
_Static_assert(sizeof(struct Line) == 100, "what the benchmark counts with");

static void give_up(const char* what) {
  perror(what);
  exit(1);
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void put_number(char* text, int digits, int64_t value) {
  for (; digits > 0; value /= 10) text[--digits] = (char)('0' + value % 10);
}

/* -1 when it is none. */
static int64_t read_number(const char* text, int digits) {
  int64_t value = 0;
  for (int i = 0; i < digits; ++i) {
    if (text[i] < '0' || text[i] > '9') return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

static struct Line line_of(int rank) {
  struct Line line;
  memset(&line, '0', sizeof line);
  put_number(line.rank, kRankDigits, rank);
  memset(line.filler, 'a' + rank % 26, sizeof line.filler);
  line.end = '\n';
  return line;
}

/* ---- the worker ---- */

static int open_in(const char* folder, const char* name, int flags) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  int fd = open(path, flags);
  if (fd < 0) give_up(path);
  return fd;
}

static void report(int fd) {
  int64_t stamp = now();
  if (write(fd, &stamp, sizeof stamp) != sizeof stamp) give_up("report");
}

static int millisecond_timer(void) {
  const struct itimerspec each = {{0, 1000000}, {0, 1000000}};
  int timer = timerfd_create(CLOCK_MONOTONIC, 0);
  if (timer < 0 || timerfd_settime(timer, 0, &each, NULL) != 0) give_up("timerfd");
  return timer;
}

static void write_lines(struct Line* line, int64_t count, int paced) {
  int timer = paced ? millisecond_timer() : -1;
  for (int64_t number = 0; number < count;) {
    uint64_t due = (uint64_t)count;
    if (paced && read(timer, &due, sizeof due) != sizeof due) give_up("timer");
    for (; due > 0 && number < count; --due, ++number) {
      put_number(line->number, kNumberDigits, number);
      memcpy(line->again, line->number, kNumberDigits);
      if (paced) put_number(line->stamp, kStampDigits, now());
      if (fwrite(line, sizeof *line, 1, stdout) != 1) give_up("fwrite");
    }
  }
  if (fflush(stdout) != 0) give_up("fflush");
}

static int be_worker(const char* folder, int64_t count, const char* pace) {
  static char buffer[kBatch];
  const char* rank = getenv("RANK") != NULL ? getenv("RANK") : getenv("PMI_RANK"); /* Hydra's workers have the latter */
  if (rank == NULL) return 2;
  setvbuf(stdout, buffer, strcmp(pace, "batches") == 0 ? _IOFBF : _IOLBF, sizeof buffer);
  struct Line line = line_of(atoi(rank));
  int ready = open_in(folder, "ready", O_WRONLY);
  report(ready);
  open_in(folder, "start", O_RDONLY);
  write_lines(&line, count, strcmp(pace, "paced") == 0);
  report(ready);
  open_in(folder, "end", O_RDONLY);
  return 0;
}

/* ---- the console ---- */

struct Source {
  struct Line line; /* its rank and filler */
  const char* prefix;
  size_t prefix_size;
  int64_t last; /* the highest number so far */
  char* seen;   /* by number */
};

static struct Source* sources;
static int64_t workers, lines, whole, torn, doubled, disordered, delayed;
static int64_t* delays;

/* Whose line these bytes end with; NULL when that is not all they are. */
static struct Source* source_of(const char* text, size_t size) {
  if (size < sizeof(struct Line)) return NULL;
  const struct Line* line = (const struct Line*)(text + size - sizeof *line);
  int64_t rank = read_number(line->rank, kRankDigits);
  if (rank < 0 || rank >= workers) return NULL;
  struct Source* source = &sources[rank];
  if (memcmp(line->filler, source->line.filler, sizeof line->filler) != 0) return NULL;
  if (memcmp(line->number, line->again, kNumberDigits) != 0) return NULL;
  if (source->prefix == NULL) return source;
  if (size - sizeof *line != source->prefix_size) return NULL;
  return memcmp(text, source->prefix, source->prefix_size) == 0 ? source : NULL;
}

static void take_line(const char* text, size_t size, int64_t when) {
  struct Source* source = source_of(text, size);
  const struct Line* line = (const struct Line*)(text + size - sizeof *line);
  int64_t number = source == NULL ? -1 : read_number(line->number, kNumberDigits);
  int64_t stamp = source == NULL ? -1 : read_number(line->stamp, kStampDigits);
  if (number < 0 || number >= lines || stamp < 0) {
    ++torn;
  } else if (source->seen[number]) {
    ++doubled;
  } else {
    ++whole;
    source->seen[number] = 1;
    if (number < source->last) ++disordered;
    if (number > source->last) source->last = number;
    if (stamp > 0) delays[delayed++] = when - stamp;
  }
}

/* Takes the whole lines off the buffer; how many bytes are left at its front. */
static size_t take_lines(char* buffer, size_t size, int64_t when) {
  char *text = buffer, *end = buffer + size;
  for (char* newline; (newline = memchr(text, '\n', (size_t)(end - text))) != NULL; text = newline + 1)
    take_line(text, (size_t)(newline + 1 - text), when);
  memmove(buffer, text, (size_t)(end - text));
  return (size_t)(end - text);
}

static int by_size(const void* left, const void* right) {
  int64_t a = *(const int64_t*)left, b = *(const int64_t*)right;
  return (a > b) - (a < b);
}

static void announce(int64_t when) {
  printf("%lld\n", (long long)when);
  fflush(stdout);
}

static void read_all(int quiet) {
  static char buffer[16 * kBatch];
  struct pollfd console = {STDIN_FILENO, POLLIN, 0};
  int64_t when = now();
  size_t held = 0;
  int announced = 0, idle = 0, ended = 0;
  while (!ended) {
    if (!announced && (idle || whole == workers * lines)) {
      announce(when);
      announced = 1;
    }
    int ready = poll(&console, 1, announced ? -1 : quiet);
    ssize_t got = ready > 0 ? read(STDIN_FILENO, buffer + held, sizeof buffer - held) : 0;
    if (got < 0) give_up("read");
    idle = got == 0;
    ended = ready > 0 && got == 0;
    if (idle) continue;
    when = now();
    held = take_lines(buffer, held + (size_t)got, when);
    if (held == sizeof buffer) { /* no line is as long */
      held = 0;
      ++torn;
    }
  }
  if (!announced) announce(when);
  if (held > 0) ++torn;
}

static int be_console(int quiet, char** prefixes) {
  delays = calloc((size_t)(workers * lines + 1), sizeof *delays);
  sources = calloc((size_t)workers, sizeof *sources);
  if (delays == NULL || sources == NULL) give_up("calloc");
  for (int rank = 0; rank < workers; ++rank) {
    const char* prefix = *prefixes == NULL ? NULL : *prefixes++;
    struct Source source = {line_of(rank), prefix, prefix == NULL ? 0 : strlen(prefix), -1, calloc((size_t)lines, 1)};
    if (source.seen == NULL) give_up("calloc");
    sources[rank] = source;
  }
  read_all(quiet);
  qsort(delays, (size_t)delayed, sizeof *delays, by_size);
  printf("%lld %lld %lld %lld %lld %lld\n", (long long)whole, (long long)torn, (long long)doubled,
         (long long)disordered, (long long)delays[delayed / 2], (long long)delays[delayed * 99 / 100]);
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  if (strcmp(argv[1], "write") == 0) return be_worker(argv[2], atoll(argv[3]), argv[4]);
  workers = atoll(argv[2]);
  lines = atoll(argv[3]);
  return be_console(atoi(argv[4]), argv + 5);
}
