// The flash chip: NOR, 8 MB in sectors of 4 KB that are erased as one. Programming only clears bits.
// On the emulated board its content is a file of the computer, at the path that the emulator was given.
#ifndef MICRO_CHIP_H
#define MICRO_CHIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHIP_SECTOR 4096u
#define CHIP_SIZE (8u * 1024 * 1024)

/** Where things are; tools/micro/firmware/flash_image.ts has the same. */
#define CHIP_BOOT 0u
#define CHIP_BOOT_SECTORS 2u
#define CHIP_STORE 0x20000u
/** Each of the two halves of the store. */
#define CHIP_STORE_BANK (384u * 1024)
/** Slot A; slot B follows. The first sector of a slot is its header. */
#define CHIP_SLOTS 0x100000u
#define CHIP_SLOT_SIZE (3u * 1024 * 1024)

/** NULL, or what is wrong. */
const char *chip_open(void);
bool chip_read(uint32_t at, void *bytes, size_t length);
bool chip_program(uint32_t at, const void *bytes, size_t length);
/** Erases the sectors of this part; both numbers are multiples of a sector. */
bool chip_erase(uint32_t at, size_t length);

/** CRC-32 as in gzip; `so_far` is 0 at first. */
uint32_t chip_crc(uint32_t so_far, const void *bytes, size_t length);

#endif
