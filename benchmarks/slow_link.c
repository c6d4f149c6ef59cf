/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: slow_link BYTES_PER_SECOND DELAY_SECONDS PID...
 *
 * Links for network.py where the kernel has no netem: one host for each process, whose network namespace gets a TUN
 * device "link0". Host number i is 10.0.0.(i + 1). Says "ready" when the devices are there, ends with its standard
 * input, and then prints JSON: the processor's seconds that it took, packets that it had to drop, and for each host the
 * bytes that its link carried away.
 *
 * Every host hangs on a switch by a link of its own, full duplex: a packet leaves when the ones before it have left, at
 * the link's bandwidth (a token bucket without depth), is at the switch's other side `delay` later, and goes down the
 * link of its receiver when that is free. The switch never is full. The kernel hands over segments of TCP joined
 * together (TSO) and takes them so; each counts with headers of its own and the 38 bytes that Ethernet adds to a frame.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { kMaxHosts = 32, kHead = sizeof(struct virtio_net_hdr), kLargestPacket = 65536 + 256, kFrame = 38 };

/* What a link is read ahead: so late this program may wake up without the link standing idle. */
static const double kReadAhead = 2e-3;

struct packet {
  struct packet* next;
  double arrival; /* of its first bit at the switch's other side; later, of its last one at the receiver */
  double wire;    /* bytes on the wire */
  int receiver;
  size_t size;
  char data[];
};

struct queue {
  struct packet* first;
  struct packet* last;
};

struct host {
  int device;
  double up_free; /* when its link has sent, and has delivered, what is known so far */
  double down_free;
  struct queue in_flight; /* from this host */
  struct queue arriving;  /* at this host */
  double carried;         /* bytes on the wire */
};

static struct host hosts[kMaxHosts];
static int host_count;
static double bandwidth, delay;
static long dropped;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double larger(double a, double b) { return a > b ? a : b; }

static void append(struct queue* queue, struct packet* packet) {
  packet->next = NULL;
  if (queue->first == NULL) {
    queue->first = packet;
  } else {
    queue->last->next = packet;
  }
  queue->last = packet;
}

static struct packet* take(struct queue* queue) {
  struct packet* const packet = queue->first;
  queue->first = packet->next;
  return packet;
}

static void fail(const char* what) {
  perror(what);
  exit(1);
}

/* A device in the network namespace of a process. */
static int open_device(const char* pid) {
  char path[64];
  struct ifreq request;
  const int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  int other, device;
  snprintf(path, sizeof path, "/proc/%s/ns/net", pid);
  other = open(path, O_RDONLY | O_CLOEXEC);
  if (own < 0 || other < 0 || setns(other, CLONE_NEWNET) != 0) fail(path);
  device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  memset(&request, 0, sizeof request);
  strcpy(request.ifr_name, "link0");
  request.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR;
  if (device < 0 || ioctl(device, TUNSETIFF, &request) != 0) fail("/dev/net/tun");
  if (ioctl(device, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) != 0) fail("TUNSETOFFLOAD");
  if (setns(own, CLONE_NEWNET) != 0) fail("setns");
  close(own);
  close(other);
  return device;
}

/* What a packet, or the segments that are joined in it, takes of an Ethernet. */
static double bytes_on_wire(const char* data, size_t size) {
  struct virtio_net_hdr head;
  const unsigned char* ip = (const unsigned char*)data + kHead;
  const size_t length = size - kHead;
  size_t headers, ip_header;
  memcpy(&head, data, sizeof head);
  ip_header = (size_t)(ip[0] & 15) * 4;
  if (head.gso_type == VIRTIO_NET_HDR_GSO_NONE || head.gso_size == 0 || length < ip_header + 20) {
    return (double)(length + kFrame);
  }
  headers = ip_header + (size_t)(ip[ip_header + 12] >> 4) * 4;
  if (length <= headers) return (double)(length + kFrame);
  const size_t segments = (length - headers + head.gso_size - 1) / head.gso_size;
  return (double)(length - headers + segments * (headers + kFrame));
}

/* Puts what a host has sent on its link, until that is busy for kReadAhead. */
static void read_link(struct host* host, int number) {
  static char data[kHead + kLargestPacket];
  for (;;) {
    const double time = now();
    if (host->up_free >= time + kReadAhead) return;
    const ssize_t size = read(host->device, data, sizeof data);
    if (size <= 0) return;
    const unsigned char* ip = (const unsigned char*)data + kHead;
    if (size < kHead + 20 || ip[0] >> 4 != 4 || ip[16] != 10) continue; /* IPv6 looks for neighbours */
    const int receiver = ip[19] - 1;
    if (receiver < 0 || receiver >= host_count || receiver == number) continue;
    struct packet* const packet = malloc(sizeof *packet + (size_t)size);
    if (packet == NULL) fail("malloc");
    const double start = larger(host->up_free, time);
    packet->wire = bytes_on_wire(data, (size_t)size);
    packet->arrival = start + delay;
    packet->receiver = receiver;
    packet->size = (size_t)size;
    memcpy(packet->data, data, (size_t)size);
    host->up_free = start + packet->wire / bandwidth;
    host->carried += packet->wire;
    append(&host->in_flight, packet);
  }
}

/* Moves what has arrived at the switch's other side to the links of the receivers, in the order of arrival. */
static void switch_packets(double time) {
  for (;;) {
    struct queue* earliest = NULL;
    for (int i = 0; i < host_count; ++i) {
      struct queue* const queue = &hosts[i].in_flight;
      if (queue->first == NULL || queue->first->arrival > time) continue;
      if (earliest == NULL || queue->first->arrival < earliest->first->arrival) earliest = queue;
    }
    if (earliest == NULL) return;
    struct packet* const packet = take(earliest);
    struct host* const receiver = &hosts[packet->receiver];
    receiver->down_free = larger(receiver->down_free, packet->arrival) + packet->wire / bandwidth;
    packet->arrival = receiver->down_free;
    append(&receiver->arriving, packet);
  }
}

static void deliver(struct host* host, double time) {
  while (host->arriving.first != NULL && host->arriving.first->arrival <= time) {
    struct packet* const packet = take(&host->arriving);
    if (write(host->device, packet->data, packet->size) != (ssize_t)packet->size) ++dropped;
    free(packet);
  }
}

static double earlier(double time, const struct queue* queue) {
  return queue->first != NULL && queue->first->arrival < time ? queue->first->arrival : time;
}

static void run(void) {
  struct pollfd polled[kMaxHosts + 1];
  for (;;) {
    const double time = now();
    double wake = time + 1;
    switch_packets(time);
    for (int i = 0; i < host_count; ++i) {
      struct host* const host = &hosts[i];
      const int is_ahead = host->up_free >= time + kReadAhead;
      deliver(host, time);
      wake = earlier(earlier(wake, &host->in_flight), &host->arriving);
      if (is_ahead && host->up_free - kReadAhead / 2 < wake) wake = host->up_free - kReadAhead / 2;
      polled[i] = (struct pollfd){host->device, is_ahead ? 0 : POLLIN, 0};
    }
    polled[host_count] = (struct pollfd){STDIN_FILENO, POLLIN, 0};
    const double wait = larger(wake - now(), 0);
    const struct timespec span = {(time_t)wait, (long)((wait - (double)(time_t)wait) * 1e9)};
    if (ppoll(polled, (nfds_t)host_count + 1, &span, NULL) <= 0) continue;
    if (polled[host_count].revents != 0) return;
    for (int i = 0; i < host_count; ++i) {
      if ((polled[i].revents & POLLIN) != 0) read_link(&hosts[i], i);
    }
  }
}

int main(int argc, char** argv) {
  const struct sched_param first = {.sched_priority = 1};
  struct rusage used;
  if (argc < 4 || argc - 3 > kMaxHosts) {
    fprintf(stderr, "usage: slow_link BYTES_PER_SECOND DELAY_SECONDS PID... (at most %d)\n", kMaxHosts);
    return 2;
  }
  bandwidth = atof(argv[1]);
  delay = atof(argv[2]);
  for (; host_count < argc - 3; ++host_count) hosts[host_count].device = open_device(argv[host_count + 3]);
  prctl(PR_SET_TIMERSLACK, 1UL);
  if (sched_setscheduler(0, SCHED_FIFO, &first) != 0) perror("slow_link goes without priority");
  puts("ready");
  fflush(stdout);
  run();
  getrusage(RUSAGE_SELF, &used);
  printf("{\"seconds\": %.3f, \"dropped\": %ld, \"carried\": [",
         (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
             (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6,
         dropped);
  for (int i = 0; i < host_count; ++i) printf("%s%.0f", i > 0 ? ", " : "", hosts[i].carried);
  puts("]}");
  return 0;
}
