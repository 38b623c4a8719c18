// The board: Arm's MPS2 with a Cortex-M3 (AN385), as QEMU has it under the name mps2-an385.
#ifndef MICRO_BOARD_H
#define MICRO_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))

/** Of the processor and its timers, in Hz. */
#define BOARD_CLOCK 25000000u
/** Number of the ethernet chip's interrupt. */
#define ETHERNET_IRQ 13
/** Where the image is in memory; the loader is below. */
#define IMAGE_ADDRESS 0x10000u
/** Most bytes of an image. */
#define IMAGE_LARGEST (3u * 1024 * 1024)

/** Starts the serial port. */
void uart_start(void);
void uart_write(const char *text);

/** Starts the clock that now() reads. */
void clock_start(void);
/** Milliseconds since the clock was started. */
double clock_now(void);

/** Resets the processor: the loader runs next. */
void board_reset(void) __attribute__((noreturn));
/** Waits for the next interrupt: of the clock, each 10 ms, or of the ethernet chip. */
void board_wait(void);

/** Resets the board unless it is called again within `ms`; 0 switches it off. */
void watchdog_feed(uint32_t ms);

#endif
