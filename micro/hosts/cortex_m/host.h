// What the parts of this host share beyond platform.h.
#ifndef MICRO_HOST_H
#define MICRO_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Reads which image runs. */
void firmware_start(void);

/** Opens the interface and asks for an address. NULL, or what is wrong. */
const char *network_start(void);
/** Takes what the network has sent, and does what of it is due. */
void network_poll(void);

#endif
