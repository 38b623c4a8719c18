// Connections: what the script asks for, and what poll() tells of them.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "connections.h"
#include "dns.h"
#include "engine.h"
#include "rounds.h"
#include "sockets.h"
#include "tls.h"

/** Handshakes take turns, as each needs memory: how long one may keep others waiting. */
#define TURN_MS 8000
/** From the call until it is open, TLS done. */
#define OPEN_MS 15000
/** For what is kept after an end. */
#define END_MS 5000
#define KEPT_ENOUGH (64 * 1024)
#ifndef KEPT_MOST
#define KEPT_MOST (1024 * 1024)
#endif

connection *connections[MOST_CONNECTIONS];
int last_network_id;

static connection *find(int id) {
  for (int i = 0; i < MOST_CONNECTIONS; i++) {
    connection *each = connections[i];
    if (each && each->id == id && each->state != GONE) return each;
  }
  return NULL;
}

connection *connection_add(void) {
  for (int i = 0; i < MOST_CONNECTIONS; i++) {
    if (connections[i]) continue;
    connection *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->id = ++last_network_id;
    made->fd = made->place = -1;
    made->until = platform_now() + OPEN_MS;
    return connections[i] = made;
  }
  return NULL;
}

void connection_release(connection *of) {
  if (of->query) dns_free(of->query);
  if (of->secure) tls_free(of->secure);
  if (of->fd >= 0) close(of->fd);
  free(of->kept);
  of->query = NULL;
  of->secure = NULL;
  of->kept = NULL;
  of->fd = -1;
  of->state = GONE;
}

// The event of it comes from the loop, never from within a call of the script.
static void fail(connection *of, const char *text) {
  if (of->problem != text) snprintf(of->problem, sizeof of->problem, "%s", text);
  of->state = FAILED;
}

static void fail_errno(connection *of, const char *what) {
  snprintf(of->problem, sizeof of->problem, "%s: %s", what, strerror(errno));
  of->state = FAILED;
}

static void open_socket(connection *of, uint32_t address) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(of->port)};
  to.sin_addr.s_addr = address;
  if (!of->with_tls && ntohl(address) >> 24 != 127) {
    fail(of, "without TLS connections go to this device itself only (127.0.0.1); use https");
    return;
  }
  of->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  int on = 1;
  if (of->fd < 0) return fail_errno(of, "there is no socket");
  setsockopt(of->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  of->state = CONNECTING;
  if (connect(of->fd, (struct sockaddr *)&to, sizeof to) && errno != EINPROGRESS) {
    fail_errno(of, "cannot connect");
  }
}

int net_connect(const char *host, int port, bool with_tls, const char *server_name) {
  connection *of = connection_add();
  // Ids that nobody has are ignored, so the caller has to be told some other way.
  if (!of) return 0;
  of->with_tls = with_tls;
  of->known = true;
  of->port = (uint16_t)port;
  snprintf(of->name, sizeof of->name, "%s", *server_name ? server_name : host);
  uint32_t address;
  const char *problem;
  of->query = dns_start(host, &address, &problem);
  if (problem) fail(of, problem);
  else if (!of->query) open_socket(of, address);
  return of->id;
}

static bool keep(connection *of, const uint8_t *bytes, size_t length) {
  size_t there = of->kept_end - of->kept_start;
  if (there + length > KEPT_MOST) return false;
  if (of->kept_start > 0 && of->kept_end + length > of->kept_size) {
    memmove(of->kept, of->kept + of->kept_start, there);
    of->kept_start = 0;
    of->kept_end = there;
  }
  if (there + length > of->kept_size) {
    size_t size = (there + length + 4095) & ~(size_t)4095;
    uint8_t *larger = realloc(of->kept, size);
    if (!larger) return false;
    of->kept = larger;
    of->kept_size = size;
  }
  memcpy(of->kept + of->kept_end, bytes, length);
  of->kept_end += length;
  return true;
}

// Sends what can be sent. TLS: as many bytes, or one of tls.h's results.
static int send_some(connection *of, const uint8_t *bytes, size_t length) {
  if (of->secure) return tls_write(of->secure, bytes, length);
  ssize_t sent = send(of->fd, bytes, length, MSG_NOSIGNAL);
  if (sent >= 0) return (int)sent;
  return errno == EAGAIN || errno == EINTR ? TLS_WANTS_WRITE : TLS_FAILED;
}

static void flush(connection *of) {
  of->wants_write = false;
  while (of->kept_start < of->kept_end) {
    int sent = send_some(of, of->kept + of->kept_start, of->kept_end - of->kept_start);
    if (sent == TLS_FAILED) {
      if (of->secure) fail(of, tls_problem(of->secure));
      else fail_errno(of, "cannot send");
      return;
    }
    if (sent < 0) {
      of->wants_write = sent == TLS_WANTS_WRITE;
      return;
    }
    of->kept_start += sent;
  }
  of->kept_start = of->kept_end = 0;
  // An idle connection keeps no memory.
  free(of->kept);
  of->kept = NULL;
  of->kept_size = 0;
}

bool net_write(int id, const uint8_t *bytes, size_t length) {
  connection *of = find(id);
  if (!of || of->state >= ENDING) return true;
  size_t sent = 0;
  if (of->state == OPEN && of->kept_start == of->kept_end && !of->secure) {
    int now = send_some(of, bytes, length);
    if (now > 0) sent = now;
  }
  if (sent < length && !keep(of, bytes + sent, length - sent)) {
    fail(of, "the peer does not take what is sent to it");
    return true;
  }
  if (of->secure && of->state == OPEN) flush(of);
  else if (sent < length) of->wants_write = true;
  of->wants_drain = of->kept_end - of->kept_start > KEPT_ENOUGH;
  return !of->wants_drain;
}

void net_end(int id) {
  connection *of = find(id);
  if (!of || of->state >= ENDING) return;
  if (of->state < OPEN) return fail(of, "it was ended before it was open");
  of->state = ENDING;
  of->until = platform_now() + END_MS;
}

void net_destroy(int id) {
  connection *of = find(id);
  if (of) connection_release(of);
}

connection *connection_in_turn(void) {
  double now = platform_now();
  for (int i = 0; i < MOST_CONNECTIONS; i++) {
    connection *each = connections[i];
    if (each && each->state == HANDSHAKE && now < each->turn_until) return each;
  }
  return NULL;
}

void net_prepare(round_t *round) {
  const connection *shaking = connection_in_turn();
  ports_prepare(round);
  for (int i = 0; i < MOST_CONNECTIONS; i++) {
    connection *of = connections[i];
    if (!of) continue;
    if (of->state == GONE) {
      free(of);
      connections[i] = NULL;
      continue;
    }
    of->place = -1;
    short events = of->wants_write ? POLLIN | POLLOUT : POLLIN;
    if (of->state == FAILED || (of->secure && of->state == OPEN && tls_pending(of->secure))) {
      round_until(round, 0);
    } else if (of->state == RESOLVING) {
      of->place = round_add(round, dns_fd(of->query), POLLIN);
      round_until(round, dns_until(of->query));
    } else if (of->state == CONNECTING) {
      of->place = round_add(round, of->fd, POLLOUT);
    } else if (of->state == HANDSHAKE && !of->secure && shaking) {
      round_until(round, shaking->turn_until);
    } else {
      if (of->state == HANDSHAKE && !of->secure && !of->accepted) events = POLLOUT;
      if (of->state == ENDING && !of->end_sent) events = POLLOUT;
      of->place = round_add(round, of->fd, events);
    }
    if (of->state != OPEN) round_until(round, of->until);
  }
}

void connection_opened(connection *of, const char *peer) {
  of->state = OPEN;
  of->known = true;
  if (of->accepted) engine_event_text(EVENT_ACCEPT, of->listener, peer, of->id);
  else engine_event(EVENT_OPEN, of->id);
}

// Whether it may begin now: those of the device itself before others, of which none keeps it longer.
static bool takes_turn(connection *of) {
  if (connection_in_turn()) return false;
  for (int i = 0; i < MOST_CONNECTIONS; i++) {
    connection *each = connections[i];
    if (!each || each->state != HANDSHAKE) continue;
    if (of->accepted && !each->accepted && !each->secure) return false;
    if (each->accepted && each->secure) connection_release(each);
  }
  of->turn_until = platform_now() + TURN_MS;
  of->until = platform_now() + OPEN_MS;
  return true;
}

static void shake_hands(connection *of) {
  if (!of->secure) {
    if (!takes_turn(of)) return;
    engine_collect();
    const char *problem = "there is not enough memory for TLS";
    of->secure = of->accepted ? tls_accept(of->fd, port_server(of->listener))
                              : tls_client(of->fd, of->name, &problem);
    if (!of->secure) return fail(of, problem);
  }
  int result = tls_handshake(of->secure);
  of->wants_write = result == TLS_WANTS_WRITE;
  if (result == TLS_FAILED) return fail(of, tls_problem(of->secure));
  if (result == 0) {
    of->wants_write = of->kept_start < of->kept_end;
    connection_opened(of, of->name);
  }
}

static void connected(connection *of) {
  int why = 0;
  socklen_t size = sizeof why;
  getsockopt(of->fd, SOL_SOCKET, SO_ERROR, &why, &size);
  if (why) {
    errno = why;
    return fail_errno(of, "cannot connect");
  }
  if (!of->with_tls) return connection_opened(of, NULL);
  of->state = HANDSHAKE;
  shake_hands(of);
}

static void peer_ended(connection *of) {
  of->ended_by_peer = true;
  int id = of->id;
  // What is kept is still sent to a peer that closed one way only.
  if (of->state == OPEN && of->kept_start < of->kept_end) {
    of->state = ENDING;
    of->until = platform_now() + END_MS;
  } else {
    connection_release(of);
  }
  engine_event(EVENT_END, id);
}

static void receive(connection *of) {
  static uint8_t bytes[16384];
  int id = of->id;
  // A few times only: others want their turn.
  for (int turn = 0; turn < 4 && of->state == OPEN; turn++) {
    int got;
    if (of->secure) {
      got = tls_read(of->secure, bytes, sizeof bytes);
    } else {
      got = (int)recv(of->fd, bytes, sizeof bytes, 0);
      if (got < 0) got = errno == EAGAIN || errno == EINTR ? TLS_WANTS_READ : TLS_FAILED;
    }
    if (got == TLS_FAILED) {
      if (of->secure) fail(of, tls_problem(of->secure));
      else fail_errno(of, "cannot receive");
      return;
    }
    if (got < 0) return;
    if (got == 0) return peer_ended(of);
    engine_event_bytes(EVENT_DATA, id, bytes, got);
    if (!of->secure && got < (int)sizeof bytes) return;
  }
}

// Sends the rest, then the end, then waits for the peer's.
static void finish(connection *of) {
  if (of->kept_start < of->kept_end) flush(of);
  if (of->state != ENDING || of->kept_start < of->kept_end) return;
  if (!of->end_sent) {
    if (of->secure) tls_end(of->secure);
    shutdown(of->fd, SHUT_WR);
    of->end_sent = true;
    if (of->ended_by_peer) connection_release(of);
    return;
  }
  uint8_t ignored[512];
  ssize_t got = recv(of->fd, ignored, sizeof ignored, 0);
  if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) peer_ended(of);
}

static void step(connection *of, short events) {
  uint32_t address;
  const char *problem;
  int result;
  if (of->state == RESOLVING) {
    result = dns_step(of->query, &address, &problem);
    if (result == 0) return;
    dns_free(of->query);
    of->query = NULL;
    if (result < 0) fail(of, problem);
    else open_socket(of, address);
  } else if (of->state == CONNECTING && events) {
    connected(of);
  } else if (of->state == HANDSHAKE && events) {
    shake_hands(of);
  } else if (of->state == OPEN) {
    if (events & (POLLOUT | POLLERR) && of->kept_start < of->kept_end) flush(of);
    if (of->state == OPEN && of->wants_drain && of->kept_end - of->kept_start <= KEPT_ENOUGH / 2) {
      of->wants_drain = false;
      engine_event(EVENT_DRAIN, of->id);
    }
    bool readable = events & (POLLIN | POLLHUP | POLLERR);
    if (of->state == OPEN && of->secure) readable = readable || tls_pending(of->secure);
    if (of->state == OPEN && readable) receive(of);
  } else if (of->state == ENDING && events) {
    finish(of);
  }
}

static void report_failure(connection *of) {
  char text[600];
  int id = of->id;
  // The script does not know yet of one that was accepted and has not finished TLS.
  bool known = of->known;
  memcpy(text, of->problem, sizeof text);
  connection_release(of);
  if (known) engine_event_text(EVENT_ERROR, id, text, 0);
}

void net_handle(const round_t *round) {
  double now = platform_now();
  for (int i = 0; i < MOST_CONNECTIONS; i++) {
    connection *of = connections[i];
    if (!of || of->state == GONE) continue;
    if (of->state == ENDING && now >= of->until) {
      if (of->ended_by_peer) connection_release(of);
      else peer_ended(of);
      continue;
    }
    if (of->state < OPEN && now >= of->until) fail(of, "it takes too long to connect");
    if (of->state != FAILED) step(of, round_events(round, of->place));
    if (of->state == FAILED) report_failure(of);
  }
  ports_handle(round);
}
