// The command line.
#ifndef MICRO_OPTIONS_H
#define MICRO_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
  const char *config, *state, *address, *ca_file;
  int port;
  bool debug, no_tls;
  /** Bytes. */
  size_t heap;
} options_t;

/** Reads the arguments; ends the program after `-help` and `-version` (0) and wrong ones (2). */
void options_read(int count, char **arguments, options_t *options);

#endif
