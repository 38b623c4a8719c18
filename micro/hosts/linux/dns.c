// A resolver of IPv4 addresses that never blocks: /etc/hosts, then the servers of /etc/resolv.conf.
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../native/dns.h"
#include "../native/platform.h"

#define SERVERS 3
#define ROUNDS 2
#define ANSWER_MS 2500

struct dns_query {
  char name[256];
  struct sockaddr_in servers[SERVERS];
  int server_count, tries, fd;
  uint8_t packet[300];
  size_t length;
  double until;
};

static bool in_hosts_file(const char *name, uint32_t *address) {
  FILE *file = fopen("/etc/hosts", "re");
  if (!file) return false;
  char line[1024];
  bool found = false;
  while (!found && fgets(line, sizeof line, file)) {
    line[strcspn(line, "#\n")] = '\0';
    char *rest, *word = strtok_r(line, " \t", &rest);
    struct in_addr parsed;
    if (!word || inet_pton(AF_INET, word, &parsed) != 1) continue;
    while (!found && (word = strtok_r(NULL, " \t", &rest))) {
      found = strcasecmp(word, name) == 0;
    }
    if (found) *address = parsed.s_addr;
  }
  fclose(file);
  return found;
}

static void read_servers(dns_query *query) {
  FILE *file = fopen("/etc/resolv.conf", "re");
  char line[512], text[64];
  while (file && query->server_count < SERVERS && fgets(line, sizeof line, file)) {
    struct sockaddr_in *server = &query->servers[query->server_count];
    if (sscanf(line, " nameserver %63s", text) != 1) continue;
    *server = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(53)};
    if (inet_pton(AF_INET, text, &server->sin_addr) == 1) query->server_count++;
  }
  if (file) fclose(file);
}

// The question: an A record of the name.
static bool write_question(dns_query *query) {
  uint8_t *at = query->packet;
  platform_random(at, 2);
  static const uint8_t HEADER[] = {1, 0, 0, 1, 0, 0, 0, 0, 0, 0};
  memcpy(at + 2, HEADER, sizeof HEADER);
  at += 12;
  for (const char *label = query->name; *label;) {
    size_t length = strcspn(label, ".");
    if (length == 0 || length > 63) return false;
    *at++ = (uint8_t)length;
    memcpy(at, label, length);
    at += length;
    label += length + (label[length] == '.');
  }
  static const uint8_t END[] = {0, 0, 1, 0, 1};
  memcpy(at, END, sizeof END);
  query->length = at + sizeof END - query->packet;
  return true;
}

// A socket of its own each time, so that the port is another one each time.
static bool ask(dns_query *query) {
  if (query->fd >= 0) close(query->fd);
  struct sockaddr_in *server = &query->servers[query->tries % query->server_count];
  query->tries++;
  query->until = platform_now() + ANSWER_MS;
  platform_random(query->packet, 2);
  query->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  return query->fd >= 0 && connect(query->fd, (struct sockaddr *)server, sizeof *server) == 0 &&
         send(query->fd, query->packet, query->length, 0) >= 0;
}

dns_query *dns_start(const char *name, uint32_t *address, const char **problem) {
  struct in_addr parsed;
  *problem = *name ? NULL : "there is no host name";
  if (*problem) return NULL;
  if (inet_pton(AF_INET, name, &parsed) == 1) {
    *address = parsed.s_addr;
    return NULL;
  }
  if (strcasecmp(name, "localhost") == 0) {
    *address = htonl(INADDR_LOOPBACK);
    return NULL;
  }
  if (in_hosts_file(name, address)) return NULL;
  dns_query *query = calloc(1, sizeof *query);
  if (!query || strlen(name) > 253) {
    free(query);
    *problem = "the name is too long";
    return NULL;
  }
  query->fd = -1;
  strcpy(query->name, name);
  read_servers(query);
  if (!write_question(query)) *problem = "that is no host name";
  else if (query->server_count == 0) *problem = "/etc/resolv.conf names no server with an IPv4 address";
  else if (!ask(query)) query->until = 0;
  if (!*problem) return query;
  dns_free(query);
  return NULL;
}

int dns_fd(const dns_query *query) {
  return query->fd;
}

double dns_until(const dns_query *query) {
  return query->until;
}

// The place after a name, 0 when it runs over the end.
static size_t after_name(const uint8_t *packet, size_t length, size_t at) {
  while (at < length) {
    uint8_t label = packet[at];
    if (label == 0) return at + 1;
    if (label >= 0xc0) return at + 2;
    at += 1 + label;
  }
  return 0;
}

// 1: an address; -1: the server says there is none; 0: not the answer to the question.
static int read_answer(dns_query *query, const uint8_t *packet, size_t length, uint32_t *address) {
  if (length < query->length || memcmp(packet, query->packet, 2) != 0 || !(packet[2] & 0x80)) return 0;
  for (size_t i = 12; i < query->length; i++) {
    if (tolower(packet[i]) != tolower(query->packet[i])) return 0;
  }
  int code = packet[3] & 15, answers = packet[6] << 8 | packet[7];
  // 2 and 5: this server cannot or will not say; another one may.
  if (code == 2 || code == 5) return 0;
  size_t at = query->length;
  while (answers-- > 0 && (at = after_name(packet, length, at)) && at + 10 <= length) {
    size_t size = packet[at + 8] << 8 | packet[at + 9];
    bool is_address = packet[at] == 0 && packet[at + 1] == 1 && packet[at + 3] == 1 && size == 4;
    at += 10;
    if (at + size > length) break;
    if (is_address) {
      memcpy(address, packet + at, 4);
      return 1;
    }
    at += size;
  }
  return -1;
}

int dns_step(dns_query *query, uint32_t *address, const char **problem) {
  static char text[400];
  uint8_t packet[1500];
  ssize_t length;
  while (query->fd >= 0 && (length = recv(query->fd, packet, sizeof packet, 0)) > 0) {
    int result = read_answer(query, packet, length, address);
    if (result > 0) return 1;
    if (result < 0) {
      snprintf(text, sizeof text, "there is no host %s with an IPv4 address", query->name);
      *problem = text;
      return -1;
    }
  }
  if (platform_now() < query->until) return 0;
  while (query->tries < ROUNDS * query->server_count) {
    if (ask(query)) return 0;
  }
  snprintf(text, sizeof text, "no name server answers where %s is", query->name);
  *problem = text;
  return -1;
}

void dns_free(dns_query *query) {
  if (query->fd >= 0) close(query->fd);
  free(query);
}
