#include "../native/rounds.h"

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
#include "../native/timers.h"
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

size_t platform_memory_used(void) {
  return engine_heap_used();
}

size_t platform_memory_limit(void) {
  return engine_heap_limit();
}

void platform_log(const char *line) {
  fprintf(stderr, "%s\n", line);
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

int loop_run(void) {
  static round_t round;
  if (pipe(waker)) return 0;
  struct sigaction action = {.sa_handler = on_stop};
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGINT, &action, NULL);
  while (!stopping && !restarting) {
    round_begin(&round);
    round_add(&round, waker[0], POLLIN);
    net_prepare(&round);
    pins_prepare(&round);
    if (poll(round.fds, round.count, round_timeout(&round)) < 0) {
      for (int i = 0; i < round.count; i++) round.fds[i].revents = 0;
    }
    if (stopping) break;
    timers_run();
    net_handle(&round);
    pins_handle(&round);
  }
  engine_event(EVENT_STOP, 0);
  return restarting;
}
