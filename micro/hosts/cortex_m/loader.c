// The first program on the board: copies the image of the active slot to memory and starts it. An image
// on trial is started once; after that, or where it is not whole, the one before it runs.
#include "../device/chip.h"
#include "board/board.h"
#include "slots.h"

void on_ethernet(void);

// Memory for data of an image: image.ld.
#define DATA 0x20000000u
#define DATA_END 0x20300000u

// Whether it begins with vectors of this board. One of another board could be a fault that ends in a
// fault, which only a power cut ends.
static bool is_of_this_board(uint32_t length) {
  const uint32_t *vectors = (const uint32_t *)IMAGE_ADDRESS;
  uint32_t stack = vectors[0], first = vectors[1];
  return length > 64 && stack > DATA && stack <= DATA_END && stack % 8 == 0 && first & 1 &&
         first > IMAGE_ADDRESS && first < IMAGE_ADDRESS + length;
}

static bool load(uint8_t slot) {
  slot_header header;
  if (slot > 1 || !slot_read(slot, &header)) return false;
  uint8_t *to = (uint8_t *)IMAGE_ADDRESS;
  return chip_read(slot_at(slot) + CHIP_SECTOR, to, header.length) &&
         chip_crc(0, to, header.length) == header.image_crc && is_of_this_board(header.length);
}

/** For an image that hangs before it feeds the watchdog itself. */
#define START_MS 60000

static void start(void) {
  watchdog_feed(START_MS);
  // Its own vectors from now on; it sets its own stack.
  REGISTER(0xe000ed08) = IMAGE_ADDRESS;
  const uint32_t *vectors = (const uint32_t *)IMAGE_ADDRESS;
  __asm__ volatile("msr msp, %0\n dsb\n isb\n bx %1" ::"r"(vectors[0]), "r"(vectors[1]));
}

static void go_back(boot_state *state, const char *why) {
  uart_write("loader: the image ");
  uart_write(why);
  uart_write(": the one before runs again.\n");
  state->active = state->before < 2 ? state->before : 1 - state->active;
  state->before = NO_SLOT;
  state->confirmed = 1;
  state->tries = 0;
  boot_state_write(state);
}

int main(void) {
  uart_start();
  const char *problem = chip_open();
  if (problem) {
    uart_write("loader: ");
    uart_write(problem);
    uart_write(".\n");
    for (;;) __asm__ volatile("wfi");
  }
  boot_state state = boot_state_read();
  if (!state.confirmed) {
    if (state.tries > 0) {
      go_back(&state, "was not confirmed");
    } else {
      state.tries = 1;
      // Not run at all when that cannot be kept, or it would be tried for ever.
      if (!boot_state_write(&state)) go_back(&state, "cannot be tried");
    }
  }
  for (int turn = 0; turn < 2; turn++) {
    if (load(state.active)) start();
    go_back(&state, "is damaged or of another board");
  }
  uart_write("loader: there is no image in the flash chip.\n");
  for (;;) __asm__ volatile("wfi");
}
