// What the engine's host functions (bindings.c) need of a platform. Each platform has one
// implementation: ../linux. Functions that can fail return NULL when all is well, else why not, for a
// person: a text that stays valid until the next call.
#ifndef MICRO_PLATFORM_H
#define MICRO_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Kinds of events, the first argument of the script's dispatch function; native.ts has the same. */
enum event_kind {
  EVENT_TIMER = 0,
  EVENT_OPEN = 1,
  EVENT_DATA = 2,
  EVENT_DRAIN = 3,
  EVENT_END = 4,
  EVENT_ERROR = 5,
  EVENT_ACCEPT = 6,
  EVENT_PIN = 7,
  EVENT_STOP = 8,
};

/** Milliseconds since some moment; never goes back. */
double platform_now(void);
/** Unix time in milliseconds. */
double platform_wall_clock(void);
/** Fills with cryptographic random bytes; ends the program when there are none. */
void platform_random(uint8_t *bytes, size_t length);
/** Bytes of the heap that the program uses, and the most they may be. */
size_t platform_memory_used(void);
size_t platform_memory_limit(void);
/** Writes a line for a person, the line break is added. */
void platform_log(const char *line);
/** Restarts soon, after the running callback. */
void platform_restart(void);
/** Restarts unless called again within `ms`; 0 switches it off. */
void platform_watchdog(double ms);

int timer_set(double ms);
void timer_clear(int id);

/** Gives a connection's id; what goes wrong is an event. */
int net_connect(const char *host, int port, bool tls, const char *server_name);
/** False when enough is kept. */
bool net_write(int id, const uint8_t *bytes, size_t length);
void net_end(int id);
void net_destroy(int id);
/** `certificate` NULL: without TLS. Sets the id and the port that was taken. */
const char *net_listen(int port, const char *certificate, const char *key, int *id, int *taken);
void net_close_listener(int id);
/** Whether there is an address; it is written in dots. */
bool net_local_address(char *text, size_t size);

/** Sets `*bytes` (to be freed), or NULL when there is no such key. */
const char *flash_read(const char *key, uint8_t **bytes, size_t *length);
const char *flash_write(const char *key, const uint8_t *bytes, size_t length);
const char *flash_remove(const char *key);
#ifndef FLASH_LARGEST
#define FLASH_LARGEST (1024 * 1024)
#endif

bool firmware_confirmed(void);
const char *firmware_begin(double size);
const char *firmware_write(const uint8_t *bytes, size_t length);
const char *firmware_finish(bool activate);
const char *firmware_confirm(void);
const char *firmware_roll_back(void);

enum pin_mode { PIN_IN = 0, PIN_IN_PULL_UP = 1, PIN_IN_PULL_DOWN = 2, PIN_OUT = 3 };
bool gpio_there(void);
const char *gpio_mode(const char *pin, int mode);
const char *gpio_read(const char *pin, bool *high);
const char *gpio_write(const char *pin, bool high);
const char *gpio_watch(const char *pin, int *id);
void gpio_unwatch(int id);
bool i2c_there(void);
const char *i2c_transfer(const char *bus, int address, const uint8_t *bytes, size_t length,
                         uint8_t *read, size_t read_length);
bool adc_there(void);
/** What was read, in steps; the least and the largest that it can be, and a step, in volts. */
typedef struct {
  double steps, least, largest, step;
} adc_value;
const char *adc_read(const char *pin, adc_value *value);
bool pwm_there(void);
const char *pwm_set(const char *pin, double frequency, double duty);

#endif
