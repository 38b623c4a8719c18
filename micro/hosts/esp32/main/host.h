// What the parts of this host share beyond platform.h.
#ifndef MICRO_HOST_H
#define MICRO_HOST_H

#include "../../native/rounds.h"

/** Sees to it that the image which runs can be gone back to. */
void firmware_start(void);
/** Starts the chip again; never returns. */
void firmware_restart(void) __attribute__((noreturn));

/** Joins the WiFi network that flash names and asks for the time. NULL, or what is wrong. */
const char *network_start(void);

/** Number of a pin, or -1 where there is none or it is the chip's own. */
int pin_number(const char *pin);
extern const char NO_PIN[];

/** PWM at this pin ends. */
void pwm_release(int pin);

/** Before and after poll(), for pins that are watched. */
void pins_prepare(round_t *round);
void pins_handle(void);

#endif
