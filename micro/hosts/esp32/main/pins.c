#include <driver/gpio.h>
#include <esp_timer.h>
#include <freertos/FreeRTOS.h>
#include <freertos/queue.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../native/engine.h"
#include "host.h"

#define MOST_CHANGES 256
/** How long a change may wait for the script; its time is the interrupt's. */
#define LOOK_MS 10

/** Pins that flash and PSRAM hang on: a use of them stops the chip. */
#if CONFIG_IDF_TARGET_ESP32S3
#define OWN_PINS 0x3ffc000000ull
#elif CONFIG_IDF_TARGET_ESP32
#define OWN_PINS 0x30fc0ull
#else
#define OWN_PINS 0ull
#endif

const char NO_PIN[] = "that is no pin for this: the number of a GPIO is, but those of flash and PSRAM";

typedef struct {
  int64_t time;
  int pin, high;
} change_t;

static gpio_config_t configs[GPIO_PIN_COUNT];
/** Ids of watches, 0: none. */
static int watches[GPIO_PIN_COUNT];
static int last_watch, watch_count;
static QueueHandle_t changes;

int pin_number(const char *pin) {
  char *rest;
  long number = strtol(pin, &rest, 10);
  if (!*pin || *rest || number < 0 || number >= GPIO_PIN_COUNT || !GPIO_IS_VALID_GPIO(number)) return -1;
  return OWN_PINS >> number & 1 ? -1 : (int)number;
}

static const char *failed(const char *pin, esp_err_t why) {
  static char problem[100];
  if (why == ESP_OK) return NULL;
  snprintf(problem, sizeof problem, "cannot use pin %.20s: %s", pin, esp_err_to_name(why));
  return problem;
}

bool gpio_there(void) {
  return true;
}

const char *gpio_mode(const char *pin, int mode) {
  int number = pin_number(pin);
  if (number < 0 || (mode == PIN_OUT && !GPIO_IS_VALID_OUTPUT_GPIO(number))) return NO_PIN;
  pwm_release(number);
  configs[number] = (gpio_config_t){
      .pin_bit_mask = 1ull << number,
      // An output can be read, too.
      .mode = mode == PIN_OUT ? GPIO_MODE_INPUT_OUTPUT : GPIO_MODE_INPUT,
      .pull_up_en = mode == PIN_IN_PULL_UP ? GPIO_PULLUP_ENABLE : GPIO_PULLUP_DISABLE,
      .pull_down_en = mode == PIN_IN_PULL_DOWN ? GPIO_PULLDOWN_ENABLE : GPIO_PULLDOWN_DISABLE,
      .intr_type = watches[number] ? GPIO_INTR_ANYEDGE : GPIO_INTR_DISABLE,
  };
  return failed(pin, gpio_config(&configs[number]));
}

const char *gpio_read(const char *pin, bool *high) {
  int number = pin_number(pin);
  if (number < 0) return NO_PIN;
  const char *wrong = configs[number].pin_bit_mask ? NULL : gpio_mode(pin, PIN_IN);
  if (!wrong) *high = gpio_get_level((gpio_num_t)number) != 0;
  return wrong;
}

const char *gpio_write(const char *pin, bool high) {
  int number = pin_number(pin);
  if (number < 0) return NO_PIN;
  const char *wrong =
      configs[number].mode == GPIO_MODE_INPUT_OUTPUT ? NULL : gpio_mode(pin, PIN_OUT);
  return wrong ? wrong : failed(pin, gpio_set_level((gpio_num_t)number, high));
}

static void on_edge(void *context) {
  int number = (int)(intptr_t)context;
  change_t change = {esp_timer_get_time(), number, gpio_get_level((gpio_num_t)number)};
  xQueueSendFromISR(changes, &change, NULL);
}

const char *gpio_watch(const char *pin, int *id) {
  int number = pin_number(pin);
  if (number < 0) return NO_PIN;
  if (watches[number]) return "the pin is watched already";
  if (!changes) {
    changes = xQueueCreate(MOST_CHANGES, sizeof(change_t));
    if (!changes || gpio_install_isr_service(0) != ESP_OK) return "there is no memory to watch pins";
  }
  bool bare = !configs[number].pin_bit_mask || configs[number].mode != GPIO_MODE_INPUT;
  const char *wrong = bare ? gpio_mode(pin, PIN_IN) : NULL;
  if (wrong) return wrong;
  esp_err_t result = gpio_isr_handler_add((gpio_num_t)number, on_edge, (void *)(intptr_t)number);
  if (result == ESP_OK) result = gpio_set_intr_type((gpio_num_t)number, GPIO_INTR_ANYEDGE);
  if (result == ESP_OK) result = gpio_intr_enable((gpio_num_t)number);
  if (result != ESP_OK) return failed(pin, result);
  *id = watches[number] = ++last_watch;
  watch_count++;
  return NULL;
}

void gpio_unwatch(int id) {
  for (int number = 0; number < GPIO_PIN_COUNT; number++) {
    if (!id || watches[number] != id) continue;
    gpio_intr_disable((gpio_num_t)number);
    gpio_isr_handler_remove((gpio_num_t)number);
    watches[number] = 0;
    watch_count--;
  }
}

void pins_prepare(round_t *round) {
  if (watch_count > 0) round_until(round, platform_now() + LOOK_MS);
}

void pins_handle(void) {
  change_t change;
  while (changes && xQueueReceive(changes, &change, 0) == pdTRUE) {
    int id = watches[change.pin];
    if (id) engine_event_number(EVENT_PIN, id, change.high, (double)change.time);
  }
}
