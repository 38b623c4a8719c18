// A NOR flash chip, or a part of one: sectors of 4 KB that are erased as one; programming only clears
// bits. Each host with such a chip has its own functions, and its `layout.h` says where things are.
#ifndef MICRO_CHIP_H
#define MICRO_CHIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHIP_SECTOR 4096u

/** NULL, or what is wrong. */
const char *chip_open(void);
bool chip_read(uint32_t at, void *bytes, size_t length);
bool chip_program(uint32_t at, const void *bytes, size_t length);
/** Erases the sectors of this part; both numbers are multiples of a sector. */
bool chip_erase(uint32_t at, size_t length);

/** CRC-32 as in gzip; `so_far` is 0 at first. */
uint32_t chip_crc(uint32_t so_far, const void *bytes, size_t length);

#endif
