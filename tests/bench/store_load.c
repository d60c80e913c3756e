/* Load for a TCPStore server at 127.0.0.1, from one thread with many connections.
 *
 *   store_load PORT OPERATION CONNECTIONS SECONDS   prints: operations, nanoseconds
 *   store_load PORT barrier CONNECTIONS             prints: nanoseconds from the first connect to the last release
 *
 * Each connection has one request outstanding; every command is a send of its own, as real clients do it.
 * Operations: add, get, wait_get, set_get, set_wait_get. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { kValidate, kSet, kGet = 3, kAdd, kWait = 6, kPing = 13 };
enum { kValueSize = 64, kFrameSize = 256, kMaxSteps = 4, kMaxGreeting = 1000 };

/* One command: what to send, and how many bytes of answer to await (none for SET). */
struct Step {
  unsigned char frame[kFrameSize];
  size_t size, answer;
};

struct Connection {
  int fd;
  int step;        /* of `steps`, or a stage of the barrier */
  size_t awaited;  /* bytes of the current answer still to come */
  size_t received;
  unsigned char answer[kFrameSize];
  struct Step steps[kMaxSteps];
};

static struct Connection* connections;
static int poller, step_count, greeting;
static long long finished, released;

static void give_up(const char* what) {
  perror(what);
  exit(1);
}

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void put(struct Step* step, const void* data, size_t size) {
  memcpy(step->frame + step->size, data, size);
  step->size += size;
}

static void put_text(struct Step* step, const void* text, uint64_t size) {
  put(step, &size, sizeof size);
  put(step, text, size);
}

static struct Step command(unsigned char operation, const char* key, size_t answer) {
  struct Step step = {.answer = answer};
  uint64_t one = 1;
  put(&step, &operation, 1);
  if (operation == kWait) put(&step, &one, sizeof one);
  put_text(&step, key, strlen(key));
  return step;
}

static struct Step set_command(const char* key) {
  char value[kValueSize];
  memset(value, 'v', sizeof value);
  struct Step step = command(kSet, key, 0);
  put_text(&step, value, sizeof value);
  return step;
}

static struct Step add_command(const char* key) {
  int64_t one = 1;
  struct Step step = command(kAdd, key, sizeof one);
  put(&step, &one, sizeof one);
  return step;
}

static struct Step get_command(const char* key) { return command(kGet, key, sizeof(uint64_t) + kValueSize); }
static struct Step wait_command(const char* key) { return command(kWait, key, 1); }

static void transmit(struct Connection* connection, const struct Step* step) {
  if (send(connection->fd, step->frame, step->size, MSG_NOSIGNAL) != (ssize_t)step->size) give_up("send");
  connection->awaited = step->answer;
  connection->received = 0;
}

static void open_connection(struct Connection* connection, int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int on = 1;
  connection->fd = socket(AF_INET, SOCK_STREAM, 0);
  if (connection->fd < 0) give_up("socket");
  setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (connect(connection->fd, (struct sockaddr*)&address, sizeof address) != 0) give_up("connect");
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
  if (epoll_ctl(poller, EPOLL_CTL_ADD, connection->fd, &event) != 0) give_up("epoll_ctl");
}

/* VALIDATE and PING. */
static void greet(struct Connection* connection) {
  struct Step step = {.answer = 4};
  unsigned char validate = kValidate, ping = kPing;
  uint32_t magic = 0x3C85F7CE, nonce = 4711;
  put(&step, &validate, 1);
  put(&step, &magic, sizeof magic);
  put(&step, &ping, 1);
  put(&step, &nonce, sizeof nonce);
  transmit(connection, &step);
}

/* 1 once the whole answer is there. */
static int answered(struct Connection* connection) {
  ssize_t count = recv(connection->fd, connection->answer + connection->received, connection->awaited, MSG_DONTWAIT);
  if (count < 0 && errno == EAGAIN) return 0;
  if (count <= 0) give_up("recv");
  connection->received += (size_t)count;
  connection->awaited -= (size_t)count;
  return connection->awaited == 0;
}

/* Sends the next command, and the one after it when it has no answer. */
static void advance(struct Connection* connection) {
  do {
    connection->step = (connection->step + 1) % step_count;
    transmit(connection, &connection->steps[connection->step]);
  } while (connection->awaited == 0);
}

static void for_each_answer(void (*handle)(struct Connection*)) {
  struct epoll_event events[512];
  int count = epoll_wait(poller, events, 512, 10000);
  if (count <= 0) give_up("epoll_wait: no answer in 10 s");
  for (int i = 0; i < count; ++i)
    if (answered(events[i].data.ptr)) handle(events[i].data.ptr);
}

static void count_and_go_on(struct Connection* connection) {
  if (connection->step == step_count - 1) ++finished;
  advance(connection);
}

static int plan(struct Step* steps, const char* operation, const char* key) {
  int count = 0;
  if (strcmp(operation, "add") == 0) steps[count++] = add_command(key);
  if (strncmp(operation, "set", 3) == 0) steps[count++] = set_command(key);
  if (strstr(operation, "wait") != NULL) steps[count++] = wait_command(key);
  if (strstr(operation, "get") != NULL) steps[count++] = get_command(key);
  return count;
}

static void greeted(struct Connection* connection) {
  (void)connection;
  --greeting;
}

/* Every connection has a key of its own; it exists before the clock starts. */
static void closed_loop(int port, const char* operation, int count, double seconds) {
  for (int i = 0; i < count; ++i) {
    char key[32];
    snprintf(key, sizeof key, "/%s/%d", operation, i);
    open_connection(&connections[i], port);
    greet(&connections[i]);
    for (greeting = 1; greeting > 0;) for_each_answer(greeted);
    step_count = plan(connections[i].steps, operation, key);
    if (step_count == 0) give_up("no such operation");
    struct Step prepare = set_command(key);
    if (strcmp(operation, "add") != 0 && send(connections[i].fd, prepare.frame, prepare.size, 0) < 0) give_up("send");
  }
  long long start = now(), end = start + (long long)(seconds * 1e9);
  for (int i = 0; i < count; ++i) {
    connections[i].step = step_count - 1;
    advance(&connections[i]);
  }
  while (now() < end) for_each_answer(count_and_go_on);
  printf("%lld %lld\n", finished, now() - start);
}

static char counter_key[64], release_key[64];
static int64_t members;

/* Stages: 0 greeted, 1 counted, 2 released. */
static void barrier_step(struct Connection* connection) {
  struct Step add = add_command(counter_key), wait = wait_command(release_key), set = set_command(release_key);
  int64_t number;
  switch (connection->step++) {
    case 0:
      --greeting;
      transmit(connection, &add);
      break;
    case 1:
      memcpy(&number, connection->answer, sizeof number);
      if (number == members) transmit(connection, &set);
      transmit(connection, &wait);
      break;
    default:
      ++released;
  }
}

/* At most kMaxGreeting are on their way in at once, so that no SYN is dropped and sent again a second later. */
static void barrier(int port, int count) {
  members = count;
  snprintf(counter_key, sizeof counter_key, "/barrier/%d/%lld/count", count, now());
  snprintf(release_key, sizeof release_key, "/barrier/%d/%lld/go", count, now());
  long long start = now();
  for (int opened = 0; released < count;) {
    for (; opened < count && greeting < kMaxGreeting; ++opened, ++greeting) {
      open_connection(&connections[opened], port);
      greet(&connections[opened]);
    }
    for_each_answer(barrier_step);
  }
  printf("%lld\n", now() - start);
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  int port = atoi(argv[1]), count = atoi(argv[3]);
  connections = calloc((size_t)count, sizeof *connections);
  poller = epoll_create1(0);
  if (connections == NULL || poller < 0) give_up("start");
  if (strcmp(argv[2], "barrier") == 0) {
    barrier(port, count);
  } else if (argc == 5) {
    closed_loop(port, argv[2], count, atof(argv[4]));
  } else {
    return 2;
  }
  return 0;
}
