// What the host that runs the board's emulator does for the board, where the board has no such
// part itself: the flash chip's file, time, random bytes. Real boards have none of this.
#ifndef MICRO_SEMIHOSTING_H
#define MICRO_SEMIHOSTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The line that the emulator was given; false when it has more bytes than `size`. */
bool semihosting_command_line(char *text, size_t size);

/** How a file is opened: reading, or reading and writing without making it. */
enum { SEMIHOSTING_READ = 1, SEMIHOSTING_UPDATE = 3 };

/** Gives a handle, or -1. */
int semihosting_open(const char *path, int mode);
/** Whether all bytes were read or written at that place of the file. */
bool semihosting_read_at(int file, uint32_t place, void *bytes, size_t length);
bool semihosting_write_at(int file, uint32_t place, const void *bytes, size_t length);
/** Reads on, without a place: for devices. */
bool semihosting_read(int file, void *bytes, size_t length);
/** Bytes of the file, or -1. */
int semihosting_length(int file);
/** Unix time in seconds. */
uint32_t semihosting_time(void);

#endif
