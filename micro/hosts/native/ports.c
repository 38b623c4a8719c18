// Ports: whom they accept.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connections.h"

#define MOST_PORTS 8
/** TLS of peers nobody knows yet: how many at once (the oldest goes) and in a second. */
#define MOST_HANDSHAKES 4
#define MOST_HANDSHAKES_A_SECOND 10

typedef struct {
  int id, fd, place;
  tls_server *server;
} listener;

static listener listeners[MOST_PORTS];
static struct in_addr bind_address;

void net_listen_at(const char *address) {
  inet_pton(AF_INET, address, &bind_address);
}

const char *net_listen(int port, const char *certificate, const char *key, int *id, int *taken) {
  static char problem[200];
  listener *of = NULL;
  for (int i = 0; i < MOST_PORTS && !of; i++) {
    if (listeners[i].id == 0) of = &listeners[i];
  }
  if (!of) return "there are eight ports already";
  const char *wrong = NULL;
  tls_server *server = certificate ? tls_server_new(certificate, key, &wrong) : NULL;
  if (wrong) return wrong;
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  at.sin_addr = bind_address;
  socklen_t size = sizeof at;
  int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 16) ||
      getsockname(fd, (struct sockaddr *)&at, &size)) {
    snprintf(problem, sizeof problem, "cannot accept connections at port %d: %s. Name another one "
             "with -listen", port, strerror(errno));
    if (fd >= 0) close(fd);
    if (server) tls_server_free(server);
    return problem;
  }
  *of = (listener){.id = ++last_network_id, .fd = fd, .place = -1, .server = server};
  *id = of->id;
  *taken = ntohs(at.sin_port);
  return NULL;
}

void net_close_listener(int id) {
  for (int i = 0; i < MOST_PORTS; i++) {
    if (listeners[i].id != id) continue;
    close(listeners[i].fd);
    // Connections by TLS still need it.
    for (int j = 0; j < MOST_CONNECTIONS; j++) {
      connection *each = connections[j];
      bool needs_it = each && (each->secure || each->state == HANDSHAKE);
      if (needs_it && each->accepted && each->listener == id) connection_release(each);
    }
    if (listeners[i].server) tls_server_free(listeners[i].server);
    listeners[i] = (listener){0};
    return;
  }
}

tls_server *port_server(int id) {
  for (int i = 0; i < MOST_PORTS; i++) {
    if (listeners[i].id == id) return listeners[i].server;
  }
  return NULL;
}

static int accepted_count(void) {
  int count = 0;
  for (int i = 0; i < MOST_CONNECTIONS; i++) {
    connection *each = connections[i];
    count += each && each->accepted && each->state != GONE;
  }
  return count;
}

// Whether a peer may begin TLS now; makes room for it.
static bool admits_handshake(void) {
  static double second;
  static int begun;
  double now = platform_now();
  if (now - second >= 1000) {
    second = now;
    begun = 0;
  }
  if (++begun > MOST_HANDSHAKES_A_SECOND) return false;
  connection *oldest = NULL, *shaking = connection_in_turn();
  int count = 0;
  for (int i = 0; i < MOST_CONNECTIONS; i++) {
    connection *each = connections[i];
    if (!each || !each->accepted || each->state != HANDSHAKE) continue;
    count++;
    if (each != shaking && (!oldest || each->id < oldest->id)) oldest = each;
  }
  if (count >= MOST_HANDSHAKES) connection_release(oldest);
  return true;
}

static void accept_all(listener *at) {
  for (int turn = 0; turn < 16; turn++) {
    struct sockaddr_in peer;
    socklen_t size = sizeof peer;
    int fd = accept4(at->fd, (struct sockaddr *)&peer, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    bool admitted = accepted_count() < MOST_ACCEPTED && (!at->server || admits_handshake());
    connection *of = admitted ? connection_add() : NULL;
    if (!of) {
      close(fd);
      continue;
    }
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    of->fd = fd;
    of->accepted = true;
    of->listener = at->id;
    inet_ntop(AF_INET, &peer.sin_addr, of->name, sizeof of->name);
    // It begins when the peer says something.
    if (at->server) of->state = HANDSHAKE;
    else connection_opened(of, of->name);
  }
}

void ports_prepare(round_t *round) {
  for (int i = 0; i < MOST_PORTS; i++) {
    if (listeners[i].id) listeners[i].place = round_add(round, listeners[i].fd, POLLIN);
  }
}

void ports_handle(const round_t *round) {
  for (int i = 0; i < MOST_PORTS; i++) {
    if (listeners[i].id && round_events(round, listeners[i].place)) accept_all(&listeners[i]);
  }
}
