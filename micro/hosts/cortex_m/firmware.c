// The slot that does not run takes the new image.
#include <string.h>

#include "../device/chip.h"
#include "../native/platform.h"
#include "board/board.h"
#include "host.h"
#include "slots.h"

static boot_state state;
static uint8_t running;
static bool writing;
static uint32_t length, done, crc;
static uint8_t page[256];

static const char NO_CHIP[] = "the flash chip does not answer";

void firmware_start(void) {
  state = boot_state_read();
  // The loader starts no other one.
  running = state.active;
}

static uint32_t place(void) {
  return slot_at(1 - running) + CHIP_SECTOR;
}

bool firmware_confirmed(void) {
  return state.confirmed || running != state.active;
}

const char *firmware_begin(double size) {
  if (size <= 0 || size > IMAGE_LARGEST - CHIP_SECTOR) return "an image may have 3 MB";
  length = (uint32_t)size;
  done = crc = 0;
  // The header first: there is no image from now on.
  uint32_t sectors = CHIP_SECTOR + (length + CHIP_SECTOR - 1) / CHIP_SECTOR * CHIP_SECTOR;
  writing = chip_erase(slot_at(1 - running), sectors);
  return writing ? NULL : NO_CHIP;
}

// What is left in the page, to the chip.
static bool write_page(uint32_t size) {
  return chip_program(place() + done - size, page, size);
}

const char *firmware_write(const uint8_t *bytes, size_t count) {
  if (!writing) return "no image is being written";
  if (count > length - done) return "the image is larger than was said";
  crc = chip_crc(crc, bytes, count);
  while (count > 0) {
    uint32_t at = done % sizeof page, size = sizeof page - at;
    if (size > count) size = count;
    memcpy(page + at, bytes, size);
    done += size;
    bytes += size;
    count -= size;
    if (done % sizeof page == 0 && !write_page(sizeof page)) return NO_CHIP;
  }
  return NULL;
}

const char *firmware_finish(bool activate) {
  bool was = writing;
  writing = false;
  // A download may fail before it has brought anything.
  if (!activate) return NULL;
  if (!was) return "no image is being written";
  if (done != length) return "the image is not whole";
  if (done % sizeof page && !write_page(done % sizeof page)) return NO_CHIP;
  slot_header header = {SLOT_MAGIC, length, crc, 0};
  header.crc = chip_crc(0, &header, offsetof(slot_header, crc));
  if (!chip_program(slot_at(1 - running), &header, sizeof header)) return NO_CHIP;
  boot_state next = state;
  next.before = running;
  next.active = 1 - running;
  next.tries = next.confirmed = 0;
  if (!boot_state_write(&next)) return NO_CHIP;
  state = next;
  return NULL;
}

const char *firmware_confirm(void) {
  if (firmware_confirmed()) return NULL;
  state.confirmed = 1;
  return boot_state_write(&state) ? NULL : NO_CHIP;
}

const char *firmware_roll_back(void) {
  slot_header header;
  if (!slot_read(1 - running, &header)) return "there is no other image";
  state.active = 1 - running;
  state.before = NO_SLOT;
  state.confirmed = 1;
  state.tries = 0;
  return boot_state_write(&state) ? NULL : NO_CHIP;
}
