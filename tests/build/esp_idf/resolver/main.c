// The resolver with lwIP in a task of its own, whose turns come when this program says so. Ends with 0
// when every answer is as it has to be, and each block of memory is freed once.
#include <stdio.h>
#include <stdlib.h>

#define MOST_BLOCKS 64
static void *blocks[MOST_BLOCKS];
static int failures;

static void *counted_calloc(size_t count, size_t size) {
  for (int i = 0; i < MOST_BLOCKS; i++) {
    if (!blocks[i]) return blocks[i] = calloc(count, size);
  }
  abort();
}

static void counted_free(void *block) {
  for (int i = 0; block && i < MOST_BLOCKS; i++) {
    if (blocks[i] != block) continue;
    free(block);
    blocks[i] = NULL;
    return;
  }
  if (block) printf("a block is freed twice\n"), failures++;
}

#define calloc counted_calloc
#define free counted_free
#include "../../../../micro/hosts/device/dns.c"
#undef calloc
#undef free

static tcpip_callback_fn turn;
static void *turn_context;
static err_t queued, result;
static dns_found_callback callback;
static void *callback_context;

err_t tcpip_callback(tcpip_callback_fn function, void *context) {
  if (queued != ERR_OK) return queued;
  turn = function;
  turn_context = context;
  return ERR_OK;
}

err_t dns_gethostbyname_addrtype(const char *name, ip_addr_t *address, dns_found_callback found,
                                 void *context, u8_t type) {
  callback = found;
  callback_context = context;
  if (result == ERR_OK) *address = (ip_addr_t)IPADDR4_INIT(0x0100007f);
  return result;
}

double platform_now(void) {
  return 0;
}

bool net_local_address(char *text, size_t size) {
  return true;
}

static void check(bool fine, const char *what) {
  if (!fine) printf("%s\n", what), failures++;
}

static void answer(bool there) {
  ip_addr_t address = IPADDR4_INIT(0x0200007f);
  callback("name", there ? &address : NULL, callback_context);
}

int main(void) {
  uint32_t address = 0;
  const char *problem;
  result = ERR_INPROGRESS;
  dns_query *query = dns_start("name", &address, &problem);
  check(query && dns_step(query, &address, &problem) == 0, "before lwIP's turn there is no answer");
  turn(turn_context);
  check(dns_step(query, &address, &problem) == 0, "while it asks there is no answer");
  answer(true);
  check(dns_step(query, &address, &problem) == 1 && address == 0x0200007f, "the answer");
  dns_free(query);

  query = dns_start("name", &address, &problem);
  turn(turn_context);
  answer(false);
  check(dns_step(query, &address, &problem) == -1 && strstr(problem, "knows"), "nobody knows it");
  dns_free(query);

  query = dns_start("name", &address, &problem);
  dns_free(query);
  turn(turn_context);
  answer(true);
  query = dns_start("name", &address, &problem);
  turn(turn_context);
  dns_free(query);
  answer(false);

  result = ERR_OK;
  query = dns_start("name", &address, &problem);
  turn(turn_context);
  check(dns_step(query, &address, &problem) == 1 && address == 0x0100007f, "what is known already");
  dns_free(query);
  result = ERR_ARG;
  query = dns_start("name", &address, &problem);
  turn(turn_context);
  check(dns_step(query, &address, &problem) == -1 && strstr(problem, "no host name"), "no name");
  dns_free(query);
  queued = ERR_MEM;
  check(!dns_start("name", &address, &problem) && problem, "lwIP takes nothing");
  check(!dns_start("127.0.0.1", &address, &problem) && !problem, "an address needs nobody");

  for (int i = 0; i < MOST_BLOCKS; i++) check(!blocks[i], "a block is not freed");
  return failures > 0;
}
