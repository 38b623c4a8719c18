#include "board.h"

// CMSDK UART 0
#define UART_DATA REGISTER(0x40004000)
#define UART_STATE REGISTER(0x40004004)
#define UART_CONTROL REGISTER(0x40004008)
#define UART_DIVIDER REGISTER(0x40004010)
#define UART_FULL 1u

// System control space of the processor
#define SYSTICK_CONTROL REGISTER(0xe000e010)
#define SYSTICK_RELOAD REGISTER(0xe000e014)
#define SYSTICK_VALUE REGISTER(0xe000e018)
#define NVIC_ENABLE REGISTER(0xe000e100)
#define NVIC_DISABLE REGISTER(0xe000e180)
#define APPLICATION_CONTROL REGISTER(0xe000ed0c)
#define INTERRUPT_STATE REGISTER(0xe000ed04)
#define SYSTICK_PENDING (1u << 26)

// CMSDK watchdog
#define WATCHDOG_LOAD REGISTER(0x40008000)
#define WATCHDOG_CONTROL REGISTER(0x40008008)
#define WATCHDOG_CLEAR REGISTER(0x4000800c)
#define WATCHDOG_LOCK REGISTER(0x40008c00)

#define TICK_MS 10u
#define TICK_CYCLES (BOARD_CLOCK / 1000 * TICK_MS)

static volatile uint32_t ticks;

void uart_start(void) {
  UART_DIVIDER = BOARD_CLOCK / 115200;
  UART_CONTROL = 1;
}

void uart_write(const char *text) {
  for (; *text; text++) {
    while (UART_STATE & UART_FULL) {
    }
    UART_DATA = (uint8_t)*text;
  }
}

void clock_start(void) {
  SYSTICK_RELOAD = TICK_CYCLES - 1;
  SYSTICK_VALUE = 0;
  SYSTICK_CONTROL = 7;
}

void on_systick(void) {
  ticks++;
}

double clock_now(void) {
  uint32_t count, value, pending;
  // Again where a tick came between.
  do {
    count = ticks;
    value = SYSTICK_VALUE;
    pending = INTERRUPT_STATE & SYSTICK_PENDING;
  } while (count != ticks || pending);
  return (double)count * TICK_MS + (double)(TICK_CYCLES - 1 - value) / (BOARD_CLOCK / 1000);
}

void on_ethernet(void) {
  // It stays on until the loop has read everything.
  NVIC_DISABLE = 1u << ETHERNET_IRQ;
}

void board_wait(void) {
  NVIC_ENABLE = 1u << ETHERNET_IRQ;
  // An interrupt between the look and the wait ends the wait.
  __asm__ volatile("cpsid i\n wfi\n cpsie i\n isb" ::: "memory");
}

void board_reset(void) {
  __asm__ volatile("dsb" ::: "memory");
  APPLICATION_CONTROL = 0x05fa0004;
  for (;;) {
  }
}

// The watchdog's interrupt comes at half the time; nothing feeds it any more then.
void on_watchdog(void) {
  uart_write("The program hangs: the watchdog restarts it.\n");
  board_reset();
}

void watchdog_feed(uint32_t ms) {
  WATCHDOG_LOCK = 0x1acce551;
  if (ms == 0) {
    WATCHDOG_CONTROL = 0;
  } else {
    uint64_t cycles = (uint64_t)ms * (BOARD_CLOCK / 1000);
    WATCHDOG_LOAD = cycles > UINT32_MAX ? UINT32_MAX : (uint32_t)cycles;
    WATCHDOG_CLEAR = 1;
    WATCHDOG_CONTROL = 3;
  }
  WATCHDOG_LOCK = 0;
}
