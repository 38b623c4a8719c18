// machine-micro-server on an ESP32: opens its parts and starts the script.
#include <esp_heap_caps.h>
#include <esp_random.h>
#include <esp_task_wdt.h>
#include <esp_timer.h>
#include <freertos/FreeRTOS.h>
#include <freertos/task.h>
#include <stdio.h>
#include <sys/time.h>

#include "../../device/chip.h"
#include "../../device/device.h"
#include "../../native/engine.h"
#include "../../native/timers.h"
#include "host.h"

/** Bytes that the script may use, in PSRAM; the rest is for TLS and the network. */
#define SCRIPT_HEAP (1024 * 1024)
/** In the chip's own memory, as PSRAM cannot be reached while flash is written. */
#define STACK (96 * 1024)
/** The loop stands still for so long at most; for a start that hangs, too. */
#define START_MS 60000

static bool restarting;

double platform_now(void) {
  return (double)esp_timer_get_time() / 1e3;
}

double platform_wall_clock(void) {
  struct timeval time;
  gettimeofday(&time, NULL);
  return (double)time.tv_sec * 1e3 + (double)time.tv_usec / 1e3;
}

void platform_random(uint8_t *bytes, size_t length) {
  esp_fill_random(bytes, length);
}

// Of everything: the script, TLS and the network.
size_t platform_memory_used(void) {
  return platform_memory_limit() - heap_caps_get_free_size(MALLOC_CAP_8BIT);
}

size_t platform_memory_limit(void) {
  return heap_caps_get_total_size(MALLOC_CAP_8BIT);
}

void platform_log(const char *line) {
  printf("%s\n", line);
}

void platform_restart(void) {
  restarting = true;
}

void platform_watchdog(double ms) {
  static bool started, watched;
  if (ms <= 0) {
    if (watched) esp_task_wdt_delete(NULL);
    watched = false;
    return;
  }
  if (!started) {
    esp_task_wdt_config_t config = {.timeout_ms = (uint32_t)ms, .trigger_panic = true};
    started = esp_task_wdt_init(&config) == ESP_OK;
  }
  if (!watched) watched = esp_task_wdt_add(NULL) == ESP_OK;
  if (watched) esp_task_wdt_reset();
}

static void end(const char *problem) {
  printf("machine-micro-server: %s\n", problem);
  // An image on trial is rolled back; one that is not starts in a while, not all the time.
  vTaskDelay(pdMS_TO_TICKS(5000));
  firmware_restart();
}

static void run(void *context) {
  static round_t round;
  platform_watchdog(START_MS);
  const char *problem = chip_open();
  if (!problem) problem = store_open();
  if (!problem) {
    firmware_start();
    problem = network_start();
  }
  if (problem) end(problem);
  if (!script_start(SCRIPT_HEAP)) end("it cannot start");
  while (!restarting) {
    round_begin(&round);
    net_prepare(&round);
    pins_prepare(&round);
    poll(round.fds, round.count, round_timeout(&round));
    timers_run();
    net_handle(&round);
    pins_handle();
  }
  engine_event(EVENT_STOP, 0);
  firmware_restart();
}

void app_main(void) {
  if (xTaskCreate(run, "machine", STACK, NULL, 5, NULL) != pdPASS) end("there is no memory for a stack");
}
