// The vector table and what runs before main(), of the image and of the loader.
#include <string.h>

#include "board.h"

extern uint32_t image_stack_top[], image_data[], image_data_end[], image_data_from[];
extern uint32_t image_bss[], image_bss_end[];

int main(void);
void on_systick(void);
void on_ethernet(void);
void on_watchdog(void);

/** The first function. */
__attribute__((no_stack_protector)) void image_start(void) {
  memcpy(image_data, image_data_from, (size_t)((char *)image_data_end - (char *)image_data));
  memset(image_bss, 0, (size_t)((char *)image_bss_end - (char *)image_bss));
  main();
  board_reset();
}

static void write_number(const char *before, uint32_t number) {
  char text[9] = "";
  for (int i = 0; i < 8; i++) text[i] = "0123456789abcdef"[number >> (28 - 4 * i) & 15];
  uart_write(before);
  uart_write(text);
}

/** Called with what the processor pushed: r0 to r3, r12, lr, pc, psr. */
__attribute__((used)) void on_fault(const uint32_t *frame) {
  uart_start();
  write_number("fault at ", frame[6]);
  write_number(", called from ", frame[5]);
  write_number(", reasons ", REGISTER(0xe000ed28));
  write_number(" ", REGISTER(0xe000ed38));
  uart_write("\n");
  board_reset();
}

// With a stack of its own: that of the program may be what is wrong.
__attribute__((naked)) static void fault(void) {
  __asm__ volatile("mrs r0, msp\n"
                   "ldr r1, =image_bss\n"
                   "cmp r0, r1\n"
                   "bhs 1f\n"
                   "mov r0, r1\n"
                   "1: ldr r1, =image_fault_stack\n"
                   "mov sp, r1\n"
                   "b on_fault\n");
}

static void unexpected(void) {
}

typedef void (*vector)(void);

__attribute__((section(".vectors"), used)) static const vector VECTORS[16 + 32] = {
    (vector)(uintptr_t)image_stack_top, image_start, on_watchdog, fault, fault, fault, fault,
    [11] = unexpected, [14] = unexpected, [15] = on_systick,
    [16 ... 16 + ETHERNET_IRQ - 1] = unexpected, [16 + ETHERNET_IRQ] = on_ethernet,
    [16 + ETHERNET_IRQ + 1 ... 16 + 31] = unexpected,
};
