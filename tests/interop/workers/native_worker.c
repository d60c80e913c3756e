/* A worker without Python: checks what it was given, and meets the others by the store's protocol itself. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void give_up(const char* what) {
  perror(what);
  exit(1);
}

static long number(const char* name) {
  const char* text = getenv(name);
  if (text == NULL) {
    fprintf(stderr, "%s is not set\n", name);
    exit(1);
  }
  return strtol(text, NULL, 10);
}

static void send_all(int peer, const void* data, size_t size) {
  if (write(peer, data, size) != (ssize_t)size) give_up("write");
}

static void receive_all(int peer, void* data, size_t size) {
  for (size_t got = 0; got < size;) {
    ssize_t count = read(peer, (char*)data + got, size - got);
    if (count <= 0) give_up("read");
    got += (size_t)count;
  }
}

static size_t put_key(unsigned char* frame, const char* key) {
  uint64_t length = strlen(key);
  memcpy(frame, &length, sizeof length);
  memcpy(frame + sizeof length, key, length);
  return sizeof length + length;
}

/* VALIDATE and PING, as every client begins. */
static int open_store(void) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number("MASTER_PORT"))};
  if (inet_pton(AF_INET, getenv("MASTER_ADDR"), &address.sin_addr) != 1) give_up("MASTER_ADDR");
  int peer = socket(AF_INET, SOCK_STREAM, 0);
  if (connect(peer, (struct sockaddr*)&address, sizeof address) != 0) give_up("connect");
  unsigned char frame[10] = {0, 0xCE, 0xF7, 0x85, 0x3C, 13, 1, 2, 3, 4};
  send_all(peer, frame, sizeof frame);
  receive_all(peer, frame, 4);
  return peer;
}

static int64_t add(int peer, const char* key, int64_t amount) {
  unsigned char frame[64] = {4};
  size_t size = 1 + put_key(frame + 1, key);
  memcpy(frame + size, &amount, sizeof amount);
  send_all(peer, frame, size + sizeof amount);
  int64_t result;
  receive_all(peer, &result, sizeof result);
  return result;
}

/* BARRIER of the protocol: answered when as many have come as the world has members. */
static void barrier(int peer, const char* key, int64_t world) {
  unsigned char frame[64] = {18};
  size_t size = 1 + put_key(frame + 1, key);
  memcpy(frame + size, &world, sizeof world);
  send_all(peer, frame, size + sizeof world);
  unsigned char answer;
  receive_all(peer, &answer, 1);
}

int main(int argc, char** argv) {
  long rank = number("RANK"), world = number("WORLD_SIZE");
  int peer = open_store();
  add(peer, "native/sum", rank + 1);
  barrier(peer, "native/barrier", world);
  int64_t sum = add(peer, "native/sum", 0);
  if (sum != world * (world + 1) / 2) {
    fprintf(stderr, "the sum is %lld\n", (long long)sum);
    return 1;
  }
  printf("OK rank %ld of %ld local %ld arguments %d %s\n", rank, world, number("LOCAL_RANK"), argc - 1,
         argc > 1 ? argv[1] : "");
  return 0;
}
