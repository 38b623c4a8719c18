// Addresses of names by lwIP's resolver, whose servers DHCP names.
#include "../native/dns.h"

#include <lwip/dns.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../native/platform.h"
#include "sockets.h"

struct dns_query {
  char name[256];
  /** Of its own place in memory: the answer may come when the query is gone. */
  struct answer *answer;
};

struct answer {
  bool there, abandoned;
  uint32_t address;
};

static void found(const char *name, const ip_addr_t *address, void *context) {
  struct answer *answer = context;
  if (answer->abandoned) {
    free(answer);
    return;
  }
  answer->there = true;
  if (address) answer->address = ip_2_ip4(address)->addr;
}

dns_query *dns_start(const char *name, uint32_t *address, const char **problem) {
  *problem = *name ? NULL : "there is no host name";
  if (*problem || inet_pton(AF_INET, name, address) == 1) return NULL;
  if (strlen(name) >= DNS_MAX_NAME_LENGTH) {
    *problem = "the name is too long";
    return NULL;
  }
  char own[20];
  if (!net_local_address(own, sizeof own)) {
    *problem = "the network has given no address yet";
    return NULL;
  }
  dns_query *query = calloc(1, sizeof *query);
  struct answer *answer = query ? calloc(1, sizeof *answer) : NULL;
  ip_addr_t known;
  err_t result = answer ? dns_gethostbyname(name, &known, found, answer) : ERR_MEM;
  if (result == ERR_INPROGRESS) {
    query->answer = answer;
    strcpy(query->name, name);
    return query;
  }
  if (result == ERR_OK) *address = ip_2_ip4(&known)->addr;
  else *problem = result == ERR_ARG ? "that is no host name" : "no name server can be asked now";
  free(answer);
  free(query);
  return NULL;
}

int dns_fd(const dns_query *query) {
  return -1;
}

double dns_until(const dns_query *query) {
  return query->answer->there ? 0 : platform_now() + 20;
}

int dns_step(dns_query *query, uint32_t *address, const char **problem) {
  static char text[400];
  const struct answer *answer = query->answer;
  if (!answer->there) return 0;
  *address = answer->address;
  if (answer->address) return 1;
  snprintf(text, sizeof text, "no name server knows an IPv4 address of %s", query->name);
  *problem = text;
  return -1;
}

void dns_free(dns_query *query) {
  if (query->answer->there) free(query->answer);
  else query->answer->abandoned = true;
  free(query);
}
