#include "timers.h"

#include <math.h>
#include <stdlib.h>

#include "engine.h"
#include "platform.h"

typedef struct timer {
  struct timer *next;
  double due;
  int id;
} timer;

// Sorted, the next one first.
static timer *timers;
static int last_timer;

int timer_set(double ms) {
  timer *made = malloc(sizeof *made);
  if (!made) return 0;
  made->due = platform_now() + (ms > 0 ? ms : 0);
  made->id = ++last_timer;
  timer **at = &timers;
  while (*at && (*at)->due <= made->due) at = &(*at)->next;
  made->next = *at;
  *at = made;
  return made->id;
}

void timer_clear(int id) {
  for (timer **at = &timers; *at; at = &(*at)->next) {
    if ((*at)->id != id) continue;
    timer *gone = *at;
    *at = gone->next;
    free(gone);
    return;
  }
}

double timers_next(void) {
  return timers ? timers->due : INFINITY;
}

void timers_run(void) {
  double now = platform_now();
  int newest = last_timer;
  for (timer **at = &timers; *at && (*at)->due <= now;) {
    if ((*at)->id > newest) {
      at = &(*at)->next;
      continue;
    }
    timer *due = *at;
    int id = due->id;
    *at = due->next;
    free(due);
    engine_event(EVENT_TIMER, id);
    at = &timers;
  }
}
