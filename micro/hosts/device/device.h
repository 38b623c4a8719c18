// What devices without files have in common.
#ifndef MICRO_DEVICE_H
#define MICRO_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

/** Opens the flash chip's part for values. NULL, or what is wrong. */
const char *store_open(void);
/** Whether flash has a value for the key. */
bool store_has(const char *key);

/** Starts the script, which may use so many bytes. False when it could not start; why was logged. */
bool script_start(size_t heap);

#endif
