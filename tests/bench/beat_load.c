/* Heart-beats for a store at 127.0.0.1, from one thread with many connections.
 *
 *   beat_load PORT CONNECTIONS INTERVAL SECONDS REQUEST ANSWER
 *
 * Each connection greets with VALIDATE and PING, then sends REQUEST every INTERVAL milliseconds (0: never) and expects
 * ANSWER, both in hexadecimal digits. The beats of all are spread evenly over the interval. Prints "ready" when all
 * have greeted and the beats begin, and after SECONDS "sent answered worst-microseconds"; then it keeps the connections
 * until its standard input ends. A wrong answer or a lost connection ends it with 1. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Ports of one source address are few; and so many are on their way in at once that no SYN is dropped. */
enum { kConnectionsPerAddress = 20000, kMaxGreeting = 500, kMaxText = 64 };

static const long long kSecond = 1000000000, kLastAnswers = 1000000000;

struct Bytes {
  unsigned char text[kMaxText];
  size_t size;
};

struct Connection {
  int fd;
  size_t received; /* bytes of the answer that is coming */
  int awaited;
  long long sent_at; /* the oldest request without an answer */
};

static const struct Bytes kGreeting = {{0, 0xCE, 0xF7, 0x85, 0x3C, 13, 1, 2, 3, 4}, 10};
static const struct Bytes kGreetingAnswer = {{1, 2, 3, 4}, 4};

static struct Connection* connections;
static struct Bytes request, answer;
static const struct Bytes* expected;
static int poller;
static long long interval, sent, answered, worst;

static void give_up(const char* what) {
  perror(what);
  exit(1);
}

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

static struct Bytes from_hexadecimal(const char* digits) {
  struct Bytes bytes = {.size = strlen(digits) / 2};
  if (bytes.size == 0 || bytes.size > kMaxText) give_up("the size of a text");
  for (size_t i = 0; i < bytes.size; ++i) {
    unsigned value;
    if (sscanf(digits + 2 * i, "%2x", &value) != 1) give_up("hexadecimal digits");
    bytes.text[i] = (unsigned char)value;
  }
  return bytes;
}

static void raise_descriptors(int count) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < (rlim_t)count + 16) {
    fprintf(stderr, "no more than %llu open files\n", (unsigned long long)limit.rlim_cur);
    exit(1);
  }
}

static void transmit(struct Connection* connection, const struct Bytes* bytes) {
  if (connection->awaited++ == 0) connection->sent_at = now();
  if (send(connection->fd, bytes->text, bytes->size, MSG_NOSIGNAL) != (ssize_t)bytes->size) give_up("send");
}

static void open_connection(int number, int port) {
  struct Connection* connection = &connections[number];
  struct sockaddr_in source = {.sin_family = AF_INET}, address = {.sin_family = AF_INET};
  source.sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)(number / kConnectionsPerAddress));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons((uint16_t)port);
  int on = 1;
  connection->fd = socket(AF_INET, SOCK_STREAM, 0);
  if (connection->fd < 0) give_up("socket");
  setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(connection->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
  if (bind(connection->fd, (struct sockaddr*)&source, sizeof source) != 0) give_up("bind");
  if (connect(connection->fd, (struct sockaddr*)&address, sizeof address) != 0) give_up("connect");
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
  if (epoll_ctl(poller, EPOLL_CTL_ADD, connection->fd, &event) != 0) give_up("epoll_ctl");
  transmit(connection, &kGreeting);
}

static void receive(struct Connection* connection) {
  unsigned char text[512];
  ssize_t count = recv(connection->fd, text, sizeof text, MSG_DONTWAIT);
  if (count < 0 && errno == EAGAIN) return;
  if (count == 0) errno = ECONNRESET;
  if (count <= 0) give_up("recv");
  for (ssize_t i = 0; i < count; ++i) {
    if (text[i] != expected->text[connection->received]) {
      errno = EPROTO;
      give_up("answer");
    }
    if (++connection->received < expected->size) continue;
    connection->received = 0;
    ++answered;
    long long took = now() - connection->sent_at;
    if (took > worst) worst = took;
    if (--connection->awaited > 0) connection->sent_at += interval;
  }
}

/* Takes what comes until `end`, or nothing more than what is there. */
static void receive_until(long long end) {
  long long left = end - now();
  if (left < 0) left = 0;
  struct pollfd watched = {.fd = poller, .events = POLLIN};
  struct timespec timeout = {left / kSecond, left % kSecond};
  if (ppoll(&watched, 1, &timeout, NULL) <= 0) return;
  struct epoll_event events[512];
  int count = epoll_wait(poller, events, 512, 0);
  for (int i = 0; i < count; ++i) receive(events[i].data.ptr);
}

static void greet_all(int count, int port) {
  expected = &kGreetingAnswer;
  long long end = now() + 60 * kSecond;
  for (int opened = 0; answered < count;) {
    for (; opened < count && opened - answered < kMaxGreeting; ++opened) open_connection(opened, port);
    receive_until(end);
    if (now() >= end) {
      errno = ETIMEDOUT;
      give_up("greeting");
    }
  }
}

/* Beat number n is due n * interval / count after the start, whatever became of those before it. */
static void beat(int count, long long duration) {
  expected = &answer;
  answered = worst = 0;
  long long start = now(), end = start + duration;
  while (now() < end) {
    long long due = interval == 0 ? end : start + (long long)((double)sent * (double)interval / count);
    if (due < end && due <= now())
      transmit(&connections[sent++ % count], &request);
    else
      receive_until(due < end ? due : end);
  }
  for (end += kLastAnswers; answered < sent && now() < end;) receive_until(end);
}

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  int port = atoi(argv[1]), count = atoi(argv[2]);
  long long duration = (long long)(atof(argv[4]) * 1e9);
  interval = (long long)(atof(argv[3]) * 1e6);
  request = from_hexadecimal(argv[5]);
  answer = from_hexadecimal(argv[6]);
  if (count <= 0) return 2;
  raise_descriptors(count);
  prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0); /* else ppoll is late by 50 microseconds, and beats come in pairs */
  connections = calloc((size_t)count, sizeof *connections);
  poller = epoll_create1(0);
  if (connections == NULL || poller < 0) give_up("start");
  greet_all(count, port);
  printf("ready\n");
  fflush(stdout);
  beat(count, duration);
  printf("%lld %lld %lld\n", sent, answered, worst / 1000);
  fflush(stdout);
  char byte;
  return read(STDIN_FILENO, &byte, 1) == 0 ? 0 : 1;
}
