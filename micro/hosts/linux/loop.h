// The event loop: one poll(), timers, and what waits for a file descriptor.
#ifndef MICRO_LOOP_H
#define MICRO_LOOP_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#define LOOP_MOST_FDS 160

/** What poll() is asked; the parts of the host fill it before each round and read it after. */
typedef struct {
  struct pollfd fds[LOOP_MOST_FDS];
  int count;
  /** When the round has to end, as platform_now() tells; INFINITY at first. */
  double until;
} round_t;

/** Adds a descriptor and gives its place, or -1 when there is no room. */
int round_add(round_t *round, int fd, short events);
/** What happened at the place. */
short round_events(const round_t *round, int place);
/** The round ends at this moment or sooner. */
void round_until(round_t *round, double moment);

/** Runs until a signal (0) or a restart (1). */
int loop_run(void);

/** net.c: before and after poll(). */
void net_prepare(round_t *round);
void net_handle(const round_t *round);
/** Address in dots that the ports are opened at; "0.0.0.0" at first. */
void net_listen_at(const char *address);
/** pins.c: likewise, for pins that are watched. */
void pins_prepare(round_t *round);
void pins_handle(const round_t *round);

#endif
