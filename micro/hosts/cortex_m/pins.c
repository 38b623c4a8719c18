// The board's emulator has no pins: 16 of them hold what is written, and an input has the level of its
// resistor. Nothing changes an input, so nothing is told of those that are watched.
#include <stdlib.h>

#include "../native/platform.h"

#define PINS 16

static struct {
  bool known, out, high;
} pins[PINS];

static int number_of(const char *pin) {
  char *rest;
  long number = strtol(pin, &rest, 10);
  return *pin && !*rest && number >= 0 && number < PINS ? (int)number : -1;
}

static const char NO_PIN[] = "the pins of this board are 0 to 15";

bool gpio_there(void) {
  return true;
}

const char *gpio_mode(const char *pin, int mode) {
  int number = number_of(pin);
  if (number < 0) return NO_PIN;
  pins[number].known = true;
  pins[number].out = mode == PIN_OUT;
  if (mode != PIN_OUT) pins[number].high = mode == PIN_IN_PULL_UP;
  return NULL;
}

const char *gpio_read(const char *pin, bool *high) {
  int number = number_of(pin);
  if (number < 0) return NO_PIN;
  *high = pins[number].high;
  return NULL;
}

const char *gpio_write(const char *pin, bool high) {
  int number = number_of(pin);
  if (number < 0) return NO_PIN;
  if (!pins[number].out) return "the pin is no output";
  pins[number].high = high;
  return NULL;
}

const char *gpio_watch(const char *pin, int *id) {
  int number = number_of(pin);
  *id = number + 1;
  return number < 0 ? NO_PIN : NULL;
}

void gpio_unwatch(int id) {
}

bool i2c_there(void) {
  return false;
}

const char *i2c_transfer(const char *bus, int address, const uint8_t *bytes, size_t length,
                         uint8_t *read, size_t read_length) {
  return "this board has no I2C";
}

bool adc_there(void) {
  return false;
}

const char *adc_read(const char *pin, adc_value *value) {
  return "this board has no analog inputs";
}

bool pwm_there(void) {
  return false;
}

const char *pwm_set(const char *pin, double frequency, double duty) {
  return "this board has no PWM";
}
