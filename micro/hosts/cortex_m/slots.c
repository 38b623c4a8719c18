// The state is a row of records of one size in two sectors. A sector that is full stays until the
// other one has been erased and has a newer record.
#include "slots.h"

#include <stddef.h>

#include "../device/chip.h"
#include "board/board.h"
#include "layout.h"

#define STATE_MAGIC 0x31544f42u
#define IN_SECTOR (CHIP_SECTOR / sizeof(boot_state))
#define ALL (IN_SECTOR * CHIP_BOOT_SECTORS)

static uint32_t place_of(uint32_t index) {
  return CHIP_BOOT + index / IN_SECTOR * CHIP_SECTOR + index % IN_SECTOR * sizeof(boot_state);
}

static bool is_whole(const boot_state *state) {
  return state->magic == STATE_MAGIC && state->active < 2 &&
         state->crc == chip_crc(0, state, offsetof(boot_state, crc));
}

// Gives the record's index, or -1.
static int newest(boot_state *found) {
  int at = -1;
  for (uint32_t i = 0; i < ALL; i++) {
    boot_state each;
    if (!chip_read(place_of(i), &each, sizeof each) || !is_whole(&each)) continue;
    if (at >= 0 && (int32_t)(each.number - found->number) <= 0) continue;
    *found = each;
    at = (int)i;
  }
  return at;
}

boot_state boot_state_read(void) {
  boot_state state;
  if (newest(&state) >= 0) return state;
  return (boot_state){.magic = STATE_MAGIC, .before = NO_SLOT, .confirmed = 1};
}

static bool is_free(uint32_t index) {
  uint8_t bytes[sizeof(boot_state)];
  if (!chip_read(place_of(index), bytes, sizeof bytes)) return false;
  for (size_t i = 0; i < sizeof bytes; i++) {
    if (bytes[i] != 0xff) return false;
  }
  return true;
}

bool boot_state_write(boot_state *state) {
  boot_state last;
  int at = newest(&last);
  uint32_t index = at < 0 ? 0 : (uint32_t)at;
  uint32_t sector = index / IN_SECTOR;
  // A power cut may have left a part of one.
  while (index < (sector + 1) * IN_SECTOR && !is_free(index)) index++;
  if (index == (sector + 1) * IN_SECTOR) {
    sector = (sector + 1) % CHIP_BOOT_SECTORS;
    if (!chip_erase(CHIP_BOOT + sector * CHIP_SECTOR, CHIP_SECTOR)) return false;
    index = sector * IN_SECTOR;
  }
  state->magic = STATE_MAGIC;
  state->number = at < 0 ? 1 : last.number + 1;
  state->crc = chip_crc(0, state, offsetof(boot_state, crc));
  return chip_program(place_of(index), state, sizeof *state);
}

uint32_t slot_at(uint8_t slot) {
  return CHIP_SLOTS + slot * CHIP_SLOT_SIZE;
}

bool slot_read(uint8_t slot, slot_header *header) {
  return chip_read(slot_at(slot), header, sizeof *header) && header->magic == SLOT_MAGIC &&
         header->length > 0 && header->length <= IMAGE_LARGEST - CHIP_SECTOR &&
         header->crc == chip_crc(0, header, offsetof(slot_header, crc));
}
