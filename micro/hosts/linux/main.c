// machine-micro-server on Linux: reads the command line and starts the script.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "../native/engine.h"
#include "bytecode.h"
#include "host.h"
#include "options.h"

/** A credentials file or a configuration next to it. */
#define LARGEST_CONFIG (1024 * 1024)
/** The installed program, told to the images that it runs. */
#define PROGRAM_VARIABLE "MACHINE_MICRO_PROGRAM"

static char program[512];
static char **own_arguments;

void host_exec(void) {
  // A timer outlives exec().
  struct itimerval off = {0};
  setitimer(ITIMER_REAL, &off, NULL);
  execv(program, own_arguments);
}

static void find_program(void) {
  const char *told = getenv(PROGRAM_VARIABLE);
  if (told && strlen(told) < sizeof program && access(told, X_OK) == 0) {
    strcpy(program, told);
    return;
  }
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  program[length > 0 ? length : 0] = '\0';
  setenv(PROGRAM_VARIABLE, program, 1);
}

static void end(const char *text) {
  fprintf(stderr, "machine-micro-server: %s\n", text);
  exit(1);
}

static char *read_config(const char *path) {
  char text[700];
  FILE *file = fopen(path, "re");
  char *content = file ? malloc(LARGEST_CONFIG + 1) : NULL;
  if (!content) {
    snprintf(text, sizeof text,
             "cannot read %s: %s. Save the machine's credentials from its page in the console there, "
             "or name another file with -config", path, strerror(errno));
    end(text);
  }
  size_t length = fread(content, 1, LARGEST_CONFIG + 1, file);
  fclose(file);
  if (length > LARGEST_CONFIG) end("the file of -config is larger than 1 MiB");
  content[length] = '\0';
  return realloc(content, length + 1);
}

// A JSON text of a string; `to` has room for six times its length and two more.
static char *quote(char *to, const char *text) {
  *to++ = '"';
  for (; *text; text++) {
    unsigned char byte = (unsigned char)*text;
    if (byte < 0x20 || byte == '"' || byte == '\\') to += sprintf(to, "\\u%04x", byte);
    else *to++ = (char)byte;
  }
  *to++ = '"';
  return to;
}

static char *script_options(const options_t *options, const char *config) {
  char *text = malloc(strlen(config) * 6 + 200), *at = text;
  if (!text) end("there is not enough memory");
  // Nobody else receives what goes over loopback, and callers there know the machine by no name.
  bool no_tls = options->no_tls || strncmp(options->address, "127.", 4) == 0;
  at += sprintf(at, "{\"port\":%d,\"tls\":%s,\"debug\":%s,\"version\":\"%s\",\"credentials\":",
                options->port, no_tls ? "false" : "true", options->debug ? "true" : "false",
                MICRO_VERSION);
  at = quote(at, config);
  strcpy(at, "}");
  return text;
}

int main(int count, char **arguments) {
  struct itimerval off = {0};
  setitimer(ITIMER_REAL, &off, NULL);
  signal(SIGPIPE, SIG_IGN);
  setvbuf(stderr, NULL, _IOLBF, 1024);
  options_t options;
  options_read(count, arguments, &options);
  own_arguments = arguments;
  find_program();
  const char *problem = flash_open(options.state);
  if (problem) end(problem);
  firmware_start(options.state, arguments);
  if (options.ca_file && (problem = tls_trust(options.ca_file))) end(problem);
  net_listen_at(options.address);
  char *config = read_config(options.config);
  char *text = script_options(&options, config);
  free(config);
  bool started = engine_start(BYTECODE, BYTECODE_LENGTH, options.heap, text);
  free(text);
  if (!started) return 1;
  if (!loop_run()) return 0;
  host_exec();
  end("the program cannot be started again");
}
