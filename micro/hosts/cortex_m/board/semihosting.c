#include "semihosting.h"

#include <string.h>

enum {
  SYS_OPEN = 0x01,
  SYS_WRITE = 0x05,
  SYS_READ = 0x06,
  SYS_SEEK = 0x0a,
  SYS_FLEN = 0x0c,
  SYS_TIME = 0x11,
  SYS_GET_CMDLINE = 0x15,
};

static int call(int operation, const void *parameters) {
  register int r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = parameters;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

bool semihosting_command_line(char *text, size_t size) {
  struct {
    char *text;
    size_t size;
  } block = {text, size};
  return call(SYS_GET_CMDLINE, &block) == 0;
}

int semihosting_open(const char *path, int mode) {
  const struct {
    const char *path;
    int mode;
    size_t length;
  } block = {path, mode, strlen(path)};
  return call(SYS_OPEN, &block);
}

static int transfer(int operation, int file, const void *bytes, size_t length) {
  const struct {
    int file;
    const void *bytes;
    size_t length;
  } block = {file, bytes, length};
  return call(operation, &block);
}

static bool seek(int file, uint32_t place) {
  const struct {
    int file;
    uint32_t place;
  } block = {file, place};
  return call(SYS_SEEK, &block) == 0;
}

bool semihosting_read(int file, void *bytes, size_t length) {
  return transfer(SYS_READ, file, bytes, length) == 0;
}

bool semihosting_read_at(int file, uint32_t place, void *bytes, size_t length) {
  return seek(file, place) && semihosting_read(file, bytes, length);
}

bool semihosting_write_at(int file, uint32_t place, const void *bytes, size_t length) {
  return seek(file, place) && transfer(SYS_WRITE, file, bytes, length) == 0;
}

int semihosting_length(int file) {
  return call(SYS_FLEN, &file);
}

uint32_t semihosting_time(void) {
  return (uint32_t)call(SYS_TIME, NULL);
}
