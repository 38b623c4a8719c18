// Pins of the kernel's GPIO character device (version 2), I2C buses, analog inputs and PWM channels. A pin
// is "LINE", a line of /dev/gpiochip0, or "CHIP:LINE"; an analog input and a PWM channel likewise.
#include <errno.h>
#include <fcntl.h>
#include <linux/gpio.h>
#include <linux/i2c-dev.h>
#include <linux/i2c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../native/engine.h"
#include "host.h"

#define MOST_PINS 48

typedef struct {
  unsigned chip, line;
  int fd, mode, place, watch;
} pin_t;

static pin_t pins[MOST_PINS];
static int pin_count, last_watch;
static char problem[300];

static const char *failed(const char *what, const char *name) {
  snprintf(problem, sizeof problem, "%s %.40s: %s", what, name, strerror(errno));
  return problem;
}

static bool parse(const char *name, unsigned *chip, unsigned *line) {
  char end;
  *chip = 0;
  if (sscanf(name, "%u:%u%c", chip, line, &end) == 2) return true;
  *chip = 0;
  return sscanf(name, "%u%c", line, &end) == 1;
}

bool gpio_there(void) {
  return access("/dev/gpiochip0", R_OK | W_OK) == 0;
}

static pin_t *find(const char *name) {
  unsigned chip, line;
  if (!parse(name, &chip, &line)) return NULL;
  for (int i = 0; i < pin_count; i++) {
    if (pins[i].chip == chip && pins[i].line == line) return &pins[i];
  }
  if (pin_count == MOST_PINS) return NULL;
  pins[pin_count] = (pin_t){.chip = chip, .line = line, .fd = -1, .mode = -1, .place = -1};
  return &pins[pin_count++];
}

static const char *request(pin_t *pin, const char *name, int mode, bool edges) {
  if (pin->fd >= 0) close(pin->fd);
  pin->fd = -1;
  char path[40];
  snprintf(path, sizeof path, "/dev/gpiochip%u", pin->chip);
  int chip = open(path, O_RDWR | O_CLOEXEC);
  if (chip < 0) return failed("cannot open the chip of pin", name);
  struct gpio_v2_line_request ask = {.offsets = {pin->line}, .num_lines = 1};
  strcpy(ask.consumer, "machine-micro");
  ask.config.flags = mode == PIN_OUT ? GPIO_V2_LINE_FLAG_OUTPUT : GPIO_V2_LINE_FLAG_INPUT;
  if (mode == PIN_IN_PULL_UP) ask.config.flags |= GPIO_V2_LINE_FLAG_BIAS_PULL_UP;
  if (mode == PIN_IN_PULL_DOWN) ask.config.flags |= GPIO_V2_LINE_FLAG_BIAS_PULL_DOWN;
  if (edges) ask.config.flags |= GPIO_V2_LINE_FLAG_EDGE_RISING | GPIO_V2_LINE_FLAG_EDGE_FALLING;
  int result = ioctl(chip, GPIO_V2_GET_LINE_IOCTL, &ask);
  int why = errno;
  close(chip);
  errno = why;
  if (result < 0) return failed("cannot use pin", name);
  pin->fd = ask.fd;
  pin->mode = mode;
  fcntl(pin->fd, F_SETFD, FD_CLOEXEC);
  fcntl(pin->fd, F_SETFL, O_NONBLOCK);
  return NULL;
}

static const char *NO_PIN = "that is no pin: a line, as 17, or chip and line, as 1:17, is";

const char *gpio_mode(const char *name, int mode) {
  pin_t *pin = find(name);
  if (!pin) return NO_PIN;
  return pin->fd >= 0 && pin->mode == mode ? NULL : request(pin, name, mode, pin->watch != 0);
}

const char *gpio_read(const char *name, bool *high) {
  pin_t *pin = find(name);
  if (!pin) return NO_PIN;
  const char *wrong = pin->fd < 0 ? request(pin, name, PIN_IN, false) : NULL;
  if (wrong) return wrong;
  struct gpio_v2_line_values values = {.mask = 1};
  if (ioctl(pin->fd, GPIO_V2_LINE_GET_VALUES_IOCTL, &values) < 0) return failed("cannot read pin", name);
  *high = values.bits & 1;
  return NULL;
}

const char *gpio_write(const char *name, bool high) {
  pin_t *pin = find(name);
  if (!pin) return NO_PIN;
  const char *wrong = pin->mode != PIN_OUT ? request(pin, name, PIN_OUT, false) : NULL;
  if (wrong) return wrong;
  struct gpio_v2_line_values values = {.mask = 1, .bits = high};
  return ioctl(pin->fd, GPIO_V2_LINE_SET_VALUES_IOCTL, &values) < 0 ? failed("cannot set pin", name)
                                                                    : NULL;
}

const char *gpio_watch(const char *name, int *id) {
  pin_t *pin = find(name);
  if (!pin) return NO_PIN;
  if (pin->watch) return "the pin is watched already";
  int mode = pin->mode < 0 || pin->mode == PIN_OUT ? PIN_IN : pin->mode;
  const char *wrong = request(pin, name, mode, true);
  if (!wrong) *id = pin->watch = ++last_watch;
  return wrong;
}

void gpio_unwatch(int id) {
  for (int i = 0; i < pin_count; i++) {
    if (pins[i].watch == id && id) pins[i].watch = 0;
  }
}

void pins_prepare(round_t *round) {
  for (int i = 0; i < pin_count; i++) {
    pins[i].place = pins[i].watch ? round_add(round, pins[i].fd, POLLIN) : -1;
  }
}

void pins_handle(const round_t *round) {
  for (int i = 0; i < pin_count; i++) {
    if (!round_events(round, pins[i].place)) continue;
    struct gpio_v2_line_event events[16];
    ssize_t got = read(pins[i].fd, events, sizeof events);
    for (ssize_t at = 0; at < got / (ssize_t)sizeof *events && pins[i].watch; at++) {
      engine_event_number(EVENT_PIN, pins[i].watch, events[at].id == GPIO_V2_LINE_EVENT_RISING_EDGE,
                          events[at].timestamp_ns / 1e3);
    }
  }
}

bool i2c_there(void) {
  char path[24];
  for (int bus = 0; bus < 16; bus++) {
    snprintf(path, sizeof path, "/dev/i2c-%d", bus);
    if (access(path, R_OK | W_OK) == 0) return true;
  }
  return false;
}

const char *i2c_transfer(const char *bus, int address, const uint8_t *bytes, size_t length,
                         uint8_t *read, size_t read_length) {
  char path[32], end;
  unsigned number;
  if (sscanf(bus, "%u%c", &number, &end) != 1) return "that is no I2C bus: 1 means /dev/i2c-1";
  snprintf(path, sizeof path, "/dev/i2c-%u", number);
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return failed("cannot open I2C bus", bus);
  struct i2c_msg messages[] = {
      {.addr = (uint16_t)address, .len = (uint16_t)length, .buf = (uint8_t *)bytes},
      {.addr = (uint16_t)address, .flags = I2C_M_RD, .len = (uint16_t)read_length, .buf = read},
  };
  // One without bytes is left out, but for the probe that has none at all.
  bool writes = length > 0 || read_length == 0;
  struct i2c_rdwr_ioctl_data both = {writes ? messages : messages + 1,
                                     (uint32_t)writes + (read_length > 0)};
  int result = ioctl(fd, I2C_RDWR, &both);
  int why = errno;
  close(fd);
  errno = why;
  return result < 0 ? failed("nobody answers on I2C bus", bus) : NULL;
}

bool adc_there(void) {
  return access("/sys/bus/iio/devices/iio:device0", R_OK) == 0;
}

static bool read_number(unsigned chip, const char *file, double *number) {
  char path[96], text[40], *end;
  snprintf(path, sizeof path, "/sys/bus/iio/devices/iio:device%u/%s", chip, file);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t length = read(fd, text, sizeof text - 1);
  int why = errno;
  close(fd);
  errno = why;
  if (length < 0) return false;
  text[length] = '\0';
  *number = strtod(text, &end);
  errno = EINVAL;
  return end != text;
}

// The kernel does not say of every converter how large its values can be.
#define ADC_STEPS 4095

const char *adc_read(const char *name, adc_value *value) {
  unsigned chip, channel;
  char file[40];
  double steps, millivolts;
  if (!parse(name, &chip, &channel)) return NO_PIN;
  snprintf(file, sizeof file, "in_voltage%u_raw", channel);
  if (!read_number(chip, file, &steps)) return failed("cannot read analog input", name);
  // A channel has its own scale, or all of a converter have one.
  snprintf(file, sizeof file, "in_voltage%u_scale", channel);
  if (!read_number(chip, file, &millivolts) && !read_number(chip, "in_voltage_scale", &millivolts)) {
    return failed("there is no scale of analog input", name);
  }
  *value = (adc_value){steps, 0, millivolts / 1000 * ADC_STEPS, millivolts / 1000};
  return NULL;
}

bool pwm_there(void) {
  return access("/sys/class/pwm/pwmchip0", R_OK) == 0;
}

static bool write_number(unsigned chip, const char *file, long long number) {
  char path[96], text[24];
  snprintf(path, sizeof path, "/sys/class/pwm/pwmchip%u/%s", chip, file);
  int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  bool done = write(fd, text, snprintf(text, sizeof text, "%lld", number)) > 0;
  int why = errno;
  close(fd);
  errno = why;
  return done;
}

const char *pwm_set(const char *name, double frequency, double duty) {
  unsigned chip, channel;
  char file[40];
  if (!parse(name, &chip, &channel)) return NO_PIN;
  if (frequency < 0.1 || frequency > 1e7 || duty < 0 || duty > 1) {
    return "a PWM frequency is 0.1 to 10,000,000 Hz and a duty 0 to 1";
  }
  long long period = (long long)(1e9 / frequency);
  if (!write_number(chip, "export", channel) && errno != EBUSY) return failed("there is no PWM", name);
  // The duty may never be more than the period, so it goes first to 0.
  snprintf(file, sizeof file, "pwm%u/duty_cycle", channel);
  write_number(chip, file, 0);
  snprintf(file, sizeof file, "pwm%u/period", channel);
  bool done = write_number(chip, file, period);
  snprintf(file, sizeof file, "pwm%u/duty_cycle", channel);
  done = done && write_number(chip, file, (long long)(period * duty));
  snprintf(file, sizeof file, "pwm%u/enable", channel);
  return done && write_number(chip, file, 1) ? NULL : failed("cannot set PWM", name);
}
