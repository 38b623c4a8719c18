// The script and the engine that runs it.
#ifndef MICRO_ENGINE_H
#define MICRO_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "platform.h"

/**
 * Starts the script: `bytecode` defines a global function `machineMicro`, which gets the host
 * functions and `options` (JSON) and gives the dispatch function. `heap_limit` in bytes. False when it
 * could not start; why was logged.
 */
bool engine_start(const uint8_t *bytecode, size_t length, size_t heap_limit, const char *options);

/** Calls the script's dispatch function, then the engine's pending jobs. What they throw is logged. */
void engine_event(enum event_kind kind, int id);
void engine_event_number(enum event_kind kind, int id, double number, double other);
void engine_event_text(enum event_kind kind, int id, const char *text, int other);
void engine_event_bytes(enum event_kind kind, int id, const uint8_t *bytes, size_t length);

/** Looks for garbage where there may be some, before something else takes much memory. */
void engine_collect(void);

/** Bytes of the script's heap now, and the most they may be. */
size_t engine_heap_used(void);
size_t engine_heap_limit(void);

#endif
