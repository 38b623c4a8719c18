#include "loop.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "../native/engine.h"
#include "host.h"

static double milliseconds(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

double platform_now(void) {
  return milliseconds(CLOCK_MONOTONIC);
}

double platform_wall_clock(void) {
  return milliseconds(CLOCK_REALTIME);
}

void platform_random(uint8_t *bytes, size_t length) {
  for (size_t done = 0; done < length;) {
    ssize_t got = getrandom(bytes + done, length - done, 0);
    if (got > 0) done += got;
    else if (errno != EINTR) {
      platform_log("The kernel gives no random bytes.");
      abort();
    }
  }
}

void platform_log(const char *line) {
  fprintf(stderr, "%s\n", line);
}

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

// Those that are due now; one that a callback sets waits for the next round.
static void run_timers(void) {
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

static bool restarting;
static volatile sig_atomic_t stopping;
// Where the loop waits between a look at the signal's mark and poll(): the handler writes here.
static int waker[2];

void platform_restart(void) {
  restarting = true;
}

static void on_stop(int signal) {
  stopping = 1;
  ssize_t ignored = write(waker[1], "", 1);
  (void)ignored;
}

static void on_watchdog(int signal) {
  static const char LINE[] = "The program hangs: the watchdog restarts it.\n";
  ssize_t ignored = write(STDERR_FILENO, LINE, sizeof LINE - 1);
  (void)ignored;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  host_exec();
  _exit(1);
}

void platform_watchdog(double ms) {
  struct itimerval timer = {.it_value = {(time_t)(ms / 1e3), (suseconds_t)(fmod(ms, 1e3) * 1e3)}};
  struct sigaction action = {.sa_handler = on_watchdog};
  sigaction(SIGALRM, &action, NULL);
  setitimer(ITIMER_REAL, &timer, NULL);
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

int loop_run(void) {
  static round_t round;
  if (pipe(waker)) return 0;
  struct sigaction action = {.sa_handler = on_stop};
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGINT, &action, NULL);
  while (!stopping && !restarting) {
    round.count = 0;
    round.until = timers ? timers->due : INFINITY;
    round_add(&round, waker[0], POLLIN);
    net_prepare(&round);
    pins_prepare(&round);
    double wait = round.until - platform_now();
    // Up to the next whole millisecond, else it would spin until the moment comes.
    int timeout = isinf(wait) ? -1 : wait <= 0 ? 0 : wait > 60e3 ? 60000 : (int)ceil(wait);
    if (poll(round.fds, round.count, timeout) < 0) {
      for (int i = 0; i < round.count; i++) round.fds[i].revents = 0;
    }
    if (stopping) break;
    run_timers();
    net_handle(&round);
    pins_handle(&round);
  }
  engine_event(EVENT_STOP, 0);
  return restarting;
}
