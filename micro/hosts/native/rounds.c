#include "rounds.h"

#include <math.h>

#include "platform.h"
#include "timers.h"

void round_begin(round_t *round) {
  round->count = 0;
  round->until = timers_next();
}

int round_add(round_t *round, int fd, short events) {
  if (round->count == LOOP_MOST_FDS) return -1;
  round->fds[round->count] = (struct pollfd){.fd = fd, .events = events};
  return round->count++;
}

short round_events(const round_t *round, int place) {
  return place < 0 || place >= round->count ? 0 : round->fds[place].revents;
}

void round_until(round_t *round, double moment) {
  if (moment < round->until) round->until = moment;
}

int round_timeout(const round_t *round) {
  double wait = round->until - platform_now();
  // Up to the next whole millisecond, else it would spin until the moment comes.
  return isinf(wait) ? -1 : wait <= 0 ? 0 : wait > 60e3 ? 60000 : (int)ceil(wait);
}
