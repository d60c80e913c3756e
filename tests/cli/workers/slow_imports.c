/* Preloaded into Python: each file of a module takes IMPORT_DELAY_MS longer to open, as on a busy network disk. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

static void delay(const char* path) {
  const char* const text = getenv("IMPORT_DELAY_MS");
  const char* const end = strrchr(path, '.');
  if (text == NULL || end == NULL || strncmp(end, ".py", 3) != 0) return;
  const long ms = atol(text);
  struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

#define OPEN(name)                                                                  \
  int name(const char* path, int flags, ...) {                                      \
    static int (*real)(const char*, int, ...);                                      \
    if (real == NULL) real = (int (*)(const char*, int, ...))dlsym(RTLD_NEXT, #name); \
    va_list rest;                                                                   \
    va_start(rest, flags);                                                          \
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;          \
    va_end(rest);                                                                   \
    delay(path);                                                                    \
    return real(path, flags, mode);                                                 \
  }

OPEN(open)
OPEN(open64)
