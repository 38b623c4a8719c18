// machine-micro-server on the board: opens its parts and starts the script.
#include <malloc.h>
#include <mbedtls/platform_time.h>
#include <mbedtls/platform_util.h>
#include <stdio.h>
#include <stdlib.h>

#include "../device/chip.h"
#include "../device/device.h"
#include "../native/engine.h"
#include "../native/rounds.h"
#include "../native/timers.h"
#include "board/board.h"
#include "board/semihosting.h"
#include "host.h"
#include "sockets.h"

/** Bytes that the script may use; the rest of the heap is for TLS and the network. */
#define SCRIPT_HEAP (1024 * 1024)

extern uintptr_t __stack_chk_guard;
extern char image_heap[], image_heap_end[];

static double started_at;
static bool restarting;

double platform_now(void) {
  return clock_now();
}

double platform_wall_clock(void) {
  return started_at + clock_now();
}

// The emulated board has no source of randomness, so its host's is used.
void platform_random(uint8_t *bytes, size_t length) {
  static int source = -1;
  if (source < 0) source = semihosting_open("/dev/urandom", SEMIHOSTING_READ);
  if (source >= 0 && semihosting_read(source, bytes, length)) return;
  platform_log("There are no random bytes.");
  board_reset();
}

int mbedtls_hardware_poll(void *context, unsigned char *bytes, size_t length, size_t *given) {
  platform_random(bytes, length);
  *given = length;
  return 0;
}

mbedtls_ms_time_t mbedtls_ms_time(void) {
  return (mbedtls_ms_time_t)platform_now();
}

struct tm *mbedtls_platform_gmtime_r(const mbedtls_time_t *time, struct tm *into) {
  return gmtime_r(time, into);
}

void platform_log(const char *line) {
  uart_write(line);
  uart_write("\n");
}

// Of everything: the script, TLS and the network.
size_t platform_memory_used(void) {
  return mallinfo().uordblks;
}

size_t platform_memory_limit(void) {
  return (size_t)(image_heap_end - image_heap);
}

void platform_restart(void) {
  restarting = true;
}

void platform_watchdog(double ms) {
  watchdog_feed((uint32_t)ms);
}

static void end(const char *problem) {
  char line[200];
  snprintf(line, sizeof line, "machine-micro-server: %s", problem);
  platform_log(line);
  // An image on trial is rolled back.
  board_reset();
}

static void run(void) {
  static round_t round;
  while (!restarting) {
    round_begin(&round);
    net_prepare(&round);
    poll(round.fds, round.count, round_timeout(&round));
    timers_run();
    net_handle(&round);
  }
}

__attribute__((no_stack_protector)) int main(void) {
  uart_start();
  clock_start();
  started_at = (double)semihosting_time() * 1e3;
  const char *problem = chip_open();
  if (!problem) problem = store_open();
  if (problem) end(problem);
  uintptr_t guard;
  platform_random((uint8_t *)&guard, sizeof guard);
  // Here only: functions that check it must not see it change.
  __stack_chk_guard = guard;
  firmware_start();
  if ((problem = network_start())) end(problem);
  if (!script_start(SCRIPT_HEAP)) end("it cannot start");
  run();
  engine_event(EVENT_STOP, 0);
  return 0;
}
