// What the parts of the Linux host share beyond platform.h.
#ifndef MICRO_HOST_H
#define MICRO_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../native/rounds.h"

/** Starts the program again in place of this one; returns when that is not possible. */
void host_exec(void);

/** Opens or makes the folder of state and locks it. NULL, or what is wrong. */
const char *flash_open(const char *folder);

/**
 * Reads what is known of the images below `folder`, and takes the place of this process with the
 * image that is to run, where that is another one. Returns when this one is.
 */
void firmware_start(const char *folder, char **arguments);

/** Writes a file in one step: afterwards there is the old or the new one. NULL, or what is wrong. */
const char *file_write(int folder, const char *name, const void *bytes, size_t length);

/** Whether a name is a file's and no path: letters, digits, `-`, `_`; 1 to 31 of them. */
bool file_name_fits(const char *name);

/** Trusts the authorities in a file of PEM texts next to the system's. NULL, or what is wrong. */
const char *tls_trust(const char *file);

/** The event loop: runs until a signal (0) or a restart (1). */
int loop_run(void);

/** pins.c: before and after poll(), for pins that are watched. */
void pins_prepare(round_t *round);
void pins_handle(const round_t *round);

#endif
