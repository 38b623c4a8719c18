// Which of the two images in the flash chip runs, for the loader and for the image.
#ifndef MICRO_SLOTS_H
#define MICRO_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

#define SLOT_MAGIC 0x31574d4du
/** In place of a slot: there is none. */
#define NO_SLOT 0xffu

/** At the start of a slot, written last; the image is in the sectors after it. */
typedef struct {
  uint32_t magic, length, image_crc, crc;
} slot_header;

typedef struct {
  uint32_t magic, number;
  /** Slots, 0 or 1; `before` may be NO_SLOT. */
  uint8_t active, before;
  uint8_t tries, confirmed;
  uint32_t crc;
} boot_state;

/** The newest state; slot 0, confirmed, where nothing was written yet. */
boot_state boot_state_read(void);
/** Writes `state` as the newest; sets its number. */
bool boot_state_write(boot_state *state);

/** Where the slot starts on the chip. */
uint32_t slot_at(uint8_t slot);
/** The header of a slot that was written to its end. */
bool slot_read(uint8_t slot, slot_header *header);

#endif
