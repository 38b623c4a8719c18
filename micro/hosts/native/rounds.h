// A round of the event loop: one poll(), timers, and what waits for a file descriptor.
#ifndef MICRO_ROUNDS_H
#define MICRO_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "sockets.h"

#ifndef LOOP_MOST_FDS
#define LOOP_MOST_FDS 160
#endif

/** What poll() is asked; the parts of the host fill it before each round and read it after. */
typedef struct {
  struct pollfd fds[LOOP_MOST_FDS];
  int count;
  /** When the round has to end, as platform_now() tells; INFINITY at first. */
  double until;
} round_t;

/** Starts with the next timer as its end. */
void round_begin(round_t *round);
/** Adds a descriptor and gives its place, or -1 when there is no room. */
int round_add(round_t *round, int fd, short events);
/** What happened at the place. */
short round_events(const round_t *round, int place);
/** The round ends at this moment or sooner. */
void round_until(round_t *round, double moment);

/** For poll(): milliseconds, or -1. */
int round_timeout(const round_t *round);

/** net.c: before and after poll(). */
void net_prepare(round_t *round);
void net_handle(const round_t *round);
/** Address in dots that the ports are opened at; "0.0.0.0" at first. */
void net_listen_at(const char *address);

#endif
