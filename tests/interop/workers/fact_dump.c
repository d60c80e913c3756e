/* env_dump.py without Python: writes what it was given to $DUMP_FOLDER/<RANK>.json, and the limits besides.
 *
 * A worker in Python cannot show everything: the interpreter itself ignores SIGPIPE and may set LC_CTYPE.
 * Bytes from 0x80 on are written as \udc80...\udcff, as Python shows bytes that it cannot decode.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char** environ;

static void give_up(const char* what) {
  perror(what);
  exit(1);
}

static void put_bytes(FILE* out, const char* text, size_t size) {
  fputc('"', out);
  for (size_t i = 0; i < size; ++i) {
    const unsigned char byte = (unsigned char)text[i];
    if (byte >= 0x80) {
      fprintf(out, "\\udc%02x", byte);
    } else if (byte < 0x20 || byte == '"' || byte == '\\') {
      fprintf(out, "\\u%04x", byte);
    } else {
      fputc(byte, out);
    }
  }
  fputc('"', out);
}

static void put_text(FILE* out, const char* text) { put_bytes(out, text, strlen(text)); }

static void put_separator(FILE* out, int* first) {
  if (!*first) fputc(',', out);
  *first = 0;
}

static void put_environment(FILE* out) {
  int first = 1;
  fputs("\"environment\":{", out);
  for (char** line = environ; *line != NULL; ++line) {
    const char* equals = strchr(*line, '=');
    const size_t size = equals == NULL ? strlen(*line) : (size_t)(equals - *line);
    put_separator(out, &first);
    put_bytes(out, *line, size);
    fputc(':', out);
    put_text(out, equals == NULL ? "" : equals + 1);
  }
  fputs("},\n", out);
}

static void put_words(FILE* out, const char* name, char** words) {
  int first = 1;
  fprintf(out, "\"%s\":[", name);
  for (; *words != NULL; ++words) {
    put_separator(out, &first);
    put_text(out, *words);
  }
  fputs("],\n", out);
}

static void put_folder(FILE* out) {
  char* folder = getcwd(NULL, 0);
  if (folder == NULL) give_up("getcwd");
  fputs("\"folder\":", out);
  put_text(out, folder);
  fputs(",\n", out);
  free(folder);
}

static void put_process(FILE* out) {
  const mode_t mask = umask(0);
  umask(mask);
  fprintf(out, "\"pid\":%d,\"session\":%d,\"group\":%d,\"umask\":%d,\"nice\":%d,\n", (int)getpid(), (int)getsid(0),
          (int)getpgid(0), (int)mask, getpriority(PRIO_PROCESS, 0));
}

static void put_cpus(FILE* out) {
  cpu_set_t set;
  int first = 1;
  if (sched_getaffinity(0, sizeof set, &set) != 0) give_up("sched_getaffinity");
  fputs("\"cpus\":[", out);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &set)) continue;
    put_separator(out, &first);
    fprintf(out, "%d", cpu);
  }
  fputs("],\n", out);
}

static void put_signals(FILE* out) {
  FILE* status = fopen("/proc/self/status", "r");
  char line[256];
  int first = 1;
  if (status == NULL) give_up("/proc/self/status");
  fputs("\"masks\":{", out);
  while (fgets(line, sizeof line, status) != NULL) {
    char name[8], value[32];
    if (strncmp(line, "SigBlk", 6) != 0 && strncmp(line, "SigIgn", 6) != 0 && strncmp(line, "SigCgt", 6) != 0) continue;
    if (sscanf(line, "%6s: %31s", name, value) != 2) continue;
    put_separator(out, &first);
    fprintf(out, "\"%s\":\"%s\"", name, value);
  }
  fclose(status);
  sigset_t blocked;
  sigprocmask(SIG_BLOCK, NULL, &blocked);
  fputs("},\n\"blocked\":[", out);
  first = 1;
  for (int number = 1; number < NSIG; ++number) {
    if (sigismember(&blocked, number) != 1) continue;
    put_separator(out, &first);
    fprintf(out, "%d", number);
  }
  fputs("],\n", out);
}

static char kind_of(mode_t mode) {
  if (S_ISREG(mode)) return '-';
  if (S_ISDIR(mode)) return 'd';
  if (S_ISCHR(mode)) return 'c';
  if (S_ISBLK(mode)) return 'b';
  if (S_ISFIFO(mode)) return 'p';
  return S_ISSOCK(mode) ? 's' : '?';
}

/* Called before this program has opened anything. */
static void note_descriptors(FILE* out) {
  DIR* folder = opendir("/proc/self/fd");
  int first = 1;
  if (folder == NULL) give_up("/proc/self/fd");
  fputs("\"descriptors\":{", out);
  for (struct dirent* entry; (entry = readdir(folder)) != NULL;) {
    char target[4096];
    struct stat facts;
    const int number = atoi(entry->d_name);
    if (entry->d_name[0] == '.' || number == dirfd(folder) || fstat(number, &facts) != 0) continue;
    const ssize_t size = readlinkat(dirfd(folder), entry->d_name, target, sizeof target);
    put_separator(out, &first);
    fprintf(out, "\"%d\":{\"target\":", number);
    put_bytes(out, target, size < 0 ? 0 : (size_t)size);
    fprintf(out, ",\"kind\":\"%c\"}", kind_of(facts.st_mode));
  }
  closedir(folder);
  fputs("},\n", out);
}

static void put_limits(FILE* out) {
  static const struct {
    int which;
    const char* name;
  } limits[] = {{RLIMIT_NOFILE, "NOFILE"}, {RLIMIT_CORE, "CORE"},       {RLIMIT_STACK, "STACK"},
                {RLIMIT_NPROC, "NPROC"},   {RLIMIT_AS, "AS"},           {RLIMIT_FSIZE, "FSIZE"},
                {RLIMIT_CPU, "CPU"},       {RLIMIT_MEMLOCK, "MEMLOCK"}};
  int first = 1;
  fputs("\"limits\":{", out);
  for (size_t i = 0; i < sizeof limits / sizeof limits[0]; ++i) {
    struct rlimit limit;
    if (getrlimit(limits[i].which, &limit) != 0) give_up("getrlimit");
    put_separator(out, &first);
    fprintf(out, "\"%s\":[%lld,%lld]", limits[i].name, (long long)limit.rlim_cur, (long long)limit.rlim_max);
  }
  fputs("}\n", out);
}

int main(int count, char** words) {
  const char *folder = getenv("DUMP_FOLDER"), *rank = getenv("RANK");
  char path[4096], part[4112];
  char* descriptors = NULL;
  size_t size = 0;
  if (count < 1 || folder == NULL || rank == NULL) give_up("DUMP_FOLDER and RANK");
  FILE* notes = open_memstream(&descriptors, &size); /* opens no descriptor */
  note_descriptors(notes);
  fclose(notes);
  snprintf(path, sizeof path, "%s/%s.json", folder, rank);
  snprintf(part, sizeof part, "%s.part", path);
  FILE* out = fopen(part, "w");
  if (out == NULL) give_up(part);
  fputs("{", out);
  put_environment(out);
  put_words(out, "command", words);
  put_words(out, "arguments", words);
  put_folder(out);
  put_process(out);
  put_cpus(out);
  put_signals(out);
  fputs(descriptors, out);
  put_limits(out);
  fputs("}\n", out);
  if (fclose(out) != 0 || rename(part, path) != 0) give_up(path);
  free(descriptors);
  return 0;
}
