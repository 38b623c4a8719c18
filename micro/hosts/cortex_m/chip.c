#include "chip.h"

#include <string.h>

#include "board/semihosting.h"

// Small, so that an end of the emulator leaves a part of a value as a power cut does.
#define PIECE 64u
#define ERASED_AT_ONCE 512u

static int file = -1;

const char *chip_open(void) {
  char path[512];
  if (!semihosting_command_line(path, sizeof path)) return "the path of the flash chip is too long";
  // Behind it there may be more words.
  path[strcspn(path, " ")] = '\0';
  file = semihosting_open(path, SEMIHOSTING_UPDATE);
  if (file < 0) return "the file of the flash chip cannot be opened";
  return semihosting_length(file) == (int)CHIP_SIZE ? NULL : "the file of the flash chip has not 8 MiB";
}

bool chip_read(uint32_t at, void *bytes, size_t length) {
  return at + length <= CHIP_SIZE && semihosting_read_at(file, at, bytes, length);
}

bool chip_program(uint32_t at, const void *bytes, size_t length) {
  if (at + length > CHIP_SIZE) return false;
  const uint8_t *from = bytes;
  while (length > 0) {
    uint8_t cells[PIECE];
    size_t size = PIECE - at % PIECE;
    if (size > length) size = length;
    if (!semihosting_read_at(file, at, cells, size)) return false;
    for (size_t i = 0; i < size; i++) cells[i] &= from[i];
    if (!semihosting_write_at(file, at, cells, size)) return false;
    at += size;
    from += size;
    length -= size;
  }
  return true;
}

bool chip_erase(uint32_t at, size_t length) {
  uint8_t erased[ERASED_AT_ONCE];
  memset(erased, 0xff, sizeof erased);
  if (at % CHIP_SECTOR || length % CHIP_SECTOR || at + length > CHIP_SIZE) return false;
  for (; length > 0; length -= sizeof erased, at += sizeof erased) {
    if (!semihosting_write_at(file, at, erased, sizeof erased)) return false;
  }
  return true;
}

uint32_t chip_crc(uint32_t so_far, const void *bytes, size_t length) {
  static const uint32_t TABLE[16] = {
      0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
      0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
  uint32_t crc = ~so_far;
  for (const uint8_t *at = bytes; length > 0; length--, at++) {
    crc = (crc >> 4) ^ TABLE[(crc ^ *at) & 15];
    crc = (crc >> 4) ^ TABLE[(crc ^ (*at >> 4)) & 15];
  }
  return ~crc;
}
