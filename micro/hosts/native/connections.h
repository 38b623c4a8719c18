// Connections, as net.c has them and ports.c accepts them.
#ifndef MICRO_CONNECTIONS_H
#define MICRO_CONNECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dns.h"
#include "engine.h"
#include "rounds.h"
#include "sockets.h"
#include "tls.h"

#ifndef MOST_CONNECTIONS
/** Connections at once. Of those that come the rest are closed, so that it can still connect itself. */
#define MOST_CONNECTIONS 96
#define MOST_ACCEPTED 64
#endif

typedef enum { RESOLVING, CONNECTING, HANDSHAKE, OPEN, ENDING, FAILED, GONE } state_t;

typedef struct {
  int id, fd, place;
  state_t state;
  bool with_tls, accepted, known, wants_drain, wants_write, ended_by_peer, end_sent;
  int listener;
  uint16_t port;
  char name[256];
  char problem[600];
  dns_query *query;
  tls *secure;
  double until;
  /** Of a handshake: until then it has its turn. */
  double turn_until;
  uint8_t *kept;
  size_t kept_start, kept_end, kept_size;
} connection;

extern connection *connections[MOST_CONNECTIONS];
/** Of connections and ports. */
extern int last_network_id;

/** A new one; NULL where there are too many, or there is no memory. */
connection *connection_add(void);
/** Ends it; its place is free in the next round. */
void connection_release(connection *of);
/** Reports to the script that it is open. */
void connection_opened(connection *of, const char *peer);
/** The one whose turn it is to shake hands. */
connection *connection_in_turn(void);

/** What a port accepts TLS with; NULL where it has none or is closed. */
tls_server *port_server(int id);
void ports_prepare(round_t *round);
void ports_handle(const round_t *round);

#endif
