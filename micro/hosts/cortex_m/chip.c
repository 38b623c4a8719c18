#include "../device/chip.h"

#include <string.h>

#include "board/semihosting.h"
#include "layout.h"

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
