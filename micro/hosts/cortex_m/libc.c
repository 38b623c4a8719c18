// What newlib wants of a system.
#include <errno.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>

#include "../native/platform.h"
#include "board/board.h"

extern char image_heap[], image_heap_end[];

static char *heap_top = image_heap;

void *_sbrk(ptrdiff_t size) {
  if (size > image_heap_end - heap_top) {
    errno = ENOMEM;
    return (void *)-1;
  }
  char *before = heap_top;
  heap_top += size;
  return before;
}

int _gettimeofday(struct timeval *time, void *zone) {
  double now = platform_wall_clock();
  time->tv_sec = (time_t)(now / 1e3);
  time->tv_usec = (suseconds_t)((now - (double)time->tv_sec * 1e3) * 1e3);
  return 0;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  double now = platform_now();
  time->tv_sec = (time_t)(now / 1e3);
  time->tv_nsec = (long)((now - (double)time->tv_sec * 1e3) * 1e6);
  return 0;
}

void _exit(int code) {
  board_reset();
}

int _write(int file, const char *bytes, int length) {
  for (int i = 0; i < length; i++) uart_write((char[]){bytes[i], '\0'});
  return length;
}

/** What functions with arrays check on their return. */
uintptr_t __stack_chk_guard = 0x00a5c317;

void __stack_chk_fail(void) {
  uart_write("The stack is damaged.\n");
  board_reset();
}

// There are no files.
int _close(int file) {
  errno = EBADF;
  return -1;
}

int _read(int file, char *bytes, int length) {
  errno = EBADF;
  return -1;
}

int _lseek(int file, int place, int from) {
  errno = EBADF;
  return -1;
}

int _fstat(int file, struct stat *info) {
  info->st_mode = S_IFCHR;
  return 0;
}

int _isatty(int file) {
  return 1;
}

int _kill(int process, int signal) {
  board_reset();
}

int _getpid(void) {
  return 1;
}
