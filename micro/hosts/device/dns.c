// Addresses of names by lwIP's resolver, whose servers DHCP names.
#include "../native/dns.h"

#include <lwip/dns.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if !NO_SYS
#include <lwip/tcpip.h>
#endif

#include "../native/platform.h"
#include "sockets.h"

/** How far an answer is; with lwIP in a task of its own, that and the script's each change it once. */
enum { WAITING, THERE, ABANDONED };

typedef struct {
  atomic_int state;
  uint32_t address;
  const char *problem;
  char name[256];
} answer_t;

struct dns_query {
  /** Of its own place in memory: the answer may come when the query is gone. */
  answer_t *answer;
};

// The second one to leave it frees it.
static void leave(answer_t *answer, int state) {
  if (atomic_exchange(&answer->state, state) != WAITING) free(answer);
}

static void found(const char *name, const ip_addr_t *address, void *context) {
  answer_t *answer = context;
  if (address) answer->address = ip_2_ip4(address)->addr;
  leave(answer, THERE);
}

// Where lwIP runs.
static void ask(void *context) {
  answer_t *answer = context;
  ip_addr_t known;
  err_t result = dns_gethostbyname_addrtype(answer->name, &known, found, answer,
                                            LWIP_DNS_ADDRTYPE_IPV4);
  if (result == ERR_INPROGRESS) return;
  if (result != ERR_OK) {
    answer->problem = result == ERR_ARG ? "that is no host name" : "no name server can be asked now";
  }
  found(answer->name, result == ERR_OK ? &known : NULL, answer);
}

static err_t begin(answer_t *answer) {
#if NO_SYS
  ask(answer);
  return ERR_OK;
#else
  return tcpip_callback(ask, answer);
#endif
}

dns_query *dns_start(const char *name, uint32_t *address, const char **problem) {
  *problem = *name ? NULL : "there is no host name";
  if (*problem || inet_pton(AF_INET, name, address) == 1) return NULL;
  if (strlen(name) >= DNS_MAX_NAME_LENGTH || strlen(name) >= sizeof(answer_t){0}.name) {
    *problem = "the name is too long";
    return NULL;
  }
  char own[20];
  if (!net_local_address(own, sizeof own)) {
    *problem = "the network has given no address yet";
    return NULL;
  }
  dns_query *query = calloc(1, sizeof *query);
  answer_t *answer = query ? calloc(1, sizeof *answer) : NULL;
  if (answer) {
    strcpy(answer->name, name);
    query->answer = answer;
    if (begin(answer) == ERR_OK) return query;
  }
  free(answer);
  free(query);
  *problem = "there is not enough memory to ask for an address";
  return NULL;
}

int dns_fd(const dns_query *query) {
  return -1;
}

double dns_until(const dns_query *query) {
  return atomic_load(&query->answer->state) == THERE ? 0 : platform_now() + 20;
}

int dns_step(dns_query *query, uint32_t *address, const char **problem) {
  static char text[400];
  const answer_t *answer = query->answer;
  if (atomic_load(&answer->state) != THERE) return 0;
  *address = answer->address;
  if (answer->address) return 1;
  snprintf(text, sizeof text, "no name server knows an IPv4 address of %s", answer->name);
  *problem = answer->problem ? answer->problem : text;
  return -1;
}

void dns_free(dns_query *query) {
  leave(query->answer, ABANDONED);
  free(query);
}
