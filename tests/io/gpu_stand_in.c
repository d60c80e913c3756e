// Plays NVIDIA's management library for io/gpu_library and the tests of launch, which load it by the real one's name.
// Its GPUs are in the file that GPU_STAND_IN names, read when the library is started: lines of "gpu UUID USED TOTAL
// BUSY", and for the GPU before it "process PID BYTES"; "hang", "crash" and "no-driver" are what it does at once.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  most = 16,
  no_driver = 9,
  bad_argument = 2
};

struct process {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance, compute_instance;
};

struct device {
  char uuid[96];
  unsigned long long used, total;
  unsigned busy, count;
  struct process processes[most];
};

struct memory {
  unsigned long long total, free, used;
};

struct utilization {
  unsigned gpu, memory;
};

static struct device devices[most];
static unsigned device_count;

static void add_gpu(FILE* file) {
  struct device* device = &devices[device_count];
  memset(device, 0, sizeof *device);
  if (fscanf(file, "%95s %llu %llu %u", device->uuid, &device->used, &device->total, &device->busy) == 4)
    ++device_count;
}

static void add_process(FILE* file) {
  struct device* device = &devices[device_count - 1];
  struct process process = {0, 0, 0, 0};
  if (fscanf(file, "%u %llu", &process.pid, &process.bytes) == 2) device->processes[device->count++] = process;
}

int nvmlInit_v2(void) {
  const char* name = getenv("GPU_STAND_IN");
  FILE* file = name == NULL ? NULL : fopen(name, "re");
  char word[32];
  int code = 0;
  (void)!write(STDOUT_FILENO, "gpu\tthis is seen by nobody\n", 27);
  device_count = 0;
  if (file == NULL) return no_driver;
  while (fscanf(file, "%31s", word) == 1) {
    if (strcmp(word, "hang") == 0)
      for (;;) pause();
    if (strcmp(word, "crash") == 0) raise(SIGKILL);
    if (strcmp(word, "no-driver") == 0) code = no_driver;
    if (strcmp(word, "gpu") == 0 && device_count < most) add_gpu(file);
    if (strcmp(word, "process") == 0 && device_count > 0 && devices[device_count - 1].count < most) add_process(file);
  }
  fclose(file);
  return code;
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = device_count;
  return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device** device) {
  *device = &devices[index];
  return 0;
}

int nvmlDeviceGetUUID(const struct device* device, char* text, unsigned size) {
  snprintf(text, size, "%s", device->uuid);
  return 0;
}

int nvmlDeviceGetName(const struct device* device, char* text, unsigned size) {
  (void)device;
  snprintf(text, size, "A GPU");
  return 0;
}

int nvmlDeviceGetMemoryInfo(const struct device* device, struct memory* memory) {
  memory->total = device->total;
  memory->free = device->total - device->used;
  memory->used = device->used;
  return 0;
}

int nvmlDeviceGetUtilizationRates(const struct device* device, struct utilization* utilization) {
  utilization->gpu = device->busy;
  utilization->memory = 0;
  return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(const struct device* device, unsigned* count, struct process* processes) {
  if (*count < device->count) return bad_argument;
  *count = device->count;
  memcpy(processes, device->processes, device->count * sizeof *processes);
  return 0;
}
