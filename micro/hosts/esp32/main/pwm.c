// PWM by LEDC: each channel has a pin, and a timer that it shares with those of the same frequency.
#include <driver/gpio.h>
#include <driver/ledc.h>
#include <stdio.h>

#include "../../native/platform.h"
#include "host.h"

#define SOURCE_HZ 80000000

typedef struct {
  bool used;
  int pin, timer;
} channel_t;

typedef struct {
  uint32_t frequency, bits;
} timer_in_use;

static channel_t channels[LEDC_CHANNEL_MAX];
static timer_in_use timers[LEDC_TIMER_MAX];
static char problem[160];

bool pwm_there(void) {
  return true;
}

static int users_of(int timer) {
  int count = 0;
  for (int i = 0; i < LEDC_CHANNEL_MAX; i++) count += channels[i].used && channels[i].timer == timer;
  return count;
}

// A timer of this frequency, or one that nobody uses; -1 when there is none.
static int find_timer(uint32_t frequency) {
  int idle = -1;
  for (int i = 0; i < LEDC_TIMER_MAX; i++) {
    if (users_of(i) == 0) idle = idle < 0 ? i : idle;
    else if (timers[i].frequency == frequency) return i;
  }
  return idle;
}

static const char *start_timer(int timer, uint32_t frequency) {
  if (users_of(timer) > 0) return NULL;
  uint32_t bits = ledc_find_suitable_duty_resolution(SOURCE_HZ, frequency);
  ledc_timer_config_t config = {
      .speed_mode = LEDC_LOW_SPEED_MODE,
      .duty_resolution = (ledc_timer_bit_t)bits,
      .timer_num = (ledc_timer_t)timer,
      .freq_hz = frequency,
      .clk_cfg = LEDC_USE_APB_CLK,
  };
  esp_err_t result = bits == 0 ? ESP_ERR_INVALID_ARG : ledc_timer_config(&config);
  if (result == ESP_OK) {
    timers[timer] = (timer_in_use){frequency, bits};
    return NULL;
  }
  snprintf(problem, sizeof problem, "a PWM frequency of %lu Hz is not possible here: %s",
           (unsigned long)frequency, esp_err_to_name(result));
  return problem;
}

static int channel_of(int pin) {
  for (int i = 0; i < LEDC_CHANNEL_MAX; i++) {
    if (channels[i].used && channels[i].pin == pin) return i;
  }
  return -1;
}

void pwm_release(int pin) {
  int at = channel_of(pin);
  if (at < 0) return;
  ledc_stop(LEDC_LOW_SPEED_MODE, (ledc_channel_t)at, 0);
  gpio_reset_pin((gpio_num_t)pin);
  channels[at].used = false;
}

static const char *open_channel(int pin, int timer, uint32_t duty) {
  int at = 0;
  while (at < LEDC_CHANNEL_MAX && channels[at].used) at++;
  if (at == LEDC_CHANNEL_MAX) return "all PWM channels of the chip are in use";
  ledc_channel_config_t config = {
      .gpio_num = pin,
      .speed_mode = LEDC_LOW_SPEED_MODE,
      .channel = (ledc_channel_t)at,
      .timer_sel = (ledc_timer_t)timer,
      .duty = duty,
  };
  esp_err_t result = ledc_channel_config(&config);
  channels[at] = (channel_t){result == ESP_OK, pin, timer};
  if (result == ESP_OK) return NULL;
  snprintf(problem, sizeof problem, "cannot set PWM at pin %d: %s", pin, esp_err_to_name(result));
  return problem;
}

const char *pwm_set(const char *pin, double frequency, double duty) {
  int number = pin_number(pin);
  if (number < 0 || !GPIO_IS_VALID_OUTPUT_GPIO(number)) return NO_PIN;
  if (!(frequency >= 1 && frequency <= 4e7) || !(duty >= 0 && duty <= 1)) {
    return "a PWM frequency is 1 to 40,000,000 Hz and a duty 0 to 1";
  }
  int at = channel_of(number);
  uint32_t wanted = (uint32_t)(frequency + 0.5);
  int moved = -1;
  if (at >= 0 && timers[channels[at].timer].frequency != wanted) {
    // Its timer may have others.
    channels[at].used = false;
    moved = at;
    at = -1;
  }
  int timer = at >= 0 ? channels[at].timer : find_timer(wanted);
  const char *wrong = timer < 0
                          ? "the chip has four PWM frequencies at a time, and all are in use"
                          : start_timer(timer, wanted);
  uint32_t level = wrong ? 0 : (uint32_t)(duty * (double)(1u << timers[timer].bits) + 0.5);
  if (!wrong && at < 0) wrong = open_channel(number, timer, level);
  // It runs on as it did.
  if (wrong && moved >= 0) channels[moved].used = true;
  if (wrong || at < 0) return wrong;
  esp_err_t result = ledc_set_duty(LEDC_LOW_SPEED_MODE, (ledc_channel_t)at, level);
  if (result == ESP_OK) result = ledc_update_duty(LEDC_LOW_SPEED_MODE, (ledc_channel_t)at);
  return result == ESP_OK ? NULL : "the PWM channel does not answer";
}
