// The board's flash chip of 8 MB. On the emulated board its content is a file of the host, at the
// path that the emulator was given.
#ifndef MICRO_LAYOUT_H
#define MICRO_LAYOUT_H

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

#endif
