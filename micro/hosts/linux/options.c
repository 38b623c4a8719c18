#include "options.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char HELP[] =
    "machine-micro-server runs a machine on a small computer.\n"
    "\n"
    "  -config FILE         the machine's credentials, from the cloud's page of the machine\n"
    "                       (default /etc/machine.json)\n"
    "  -state DIR           where configuration and updates are kept\n"
    "                       (default /var/lib/machine-micro-server)\n"
    "  -listen [ADDR:]PORT  where calls from the local network are accepted (default 8080;\n"
    "                       0: any free port)\n"
    "  -ca-file FILE        certificate authorities to trust next to the system's, in PEM form\n"
    "  -heap-mb N           most memory for the program's own objects, 1 to 512 (default 8)\n"
    "  -no-tls              leave that port without TLS, for a network where nobody listens\n"
    "  -debug               log debug lines too\n"
    "  -version             print the version\n"
    "  -help                print this\n"
    "\n"
    "SSL_CERT_FILE names a file of authorities in place of the system's.\n"
    "Exit codes: 0 fine, 1 failed, 2 wrong usage.\n";

static void refuse(const char *text, const char *argument) {
  fprintf(stderr, "machine-micro-server: %s %s. See machine-micro-server -help\n", text, argument);
  exit(2);
}

static int number(const char *text, int least, int most, const char *option) {
  char *end;
  long value = strtol(text, &end, 10);
  if (*text && !*end && value >= least && value <= most) return (int)value;
  fprintf(stderr, "machine-micro-server: %s takes a number from %d to %d, not \"%s\"\n", option, least,
          most, text);
  exit(2);
}

static void read_listen(char *value, options_t *options) {
  struct in_addr parsed;
  char *colon = strrchr(value, ':');
  options->port = number(colon ? colon + 1 : value, 0, 65535, "-listen");
  if (!colon || colon == value) return;
  *colon = '\0';
  if (strcmp(value, "localhost") == 0) strcpy(value, "127.0.0.1");
  if (inet_pton(AF_INET, value, &parsed) != 1) {
    refuse("-listen takes an IPv4 address of this host and a port, not", value);
  }
  options->address = value;
}

void options_read(int count, char **arguments, options_t *options) {
  *options = (options_t){.config = "/etc/machine.json",
                         .state = "/var/lib/machine-micro-server",
                         .address = "0.0.0.0",
                         .port = 8080,
                         .heap = 8 << 20};
  for (int at = 1; at < count; at++) {
    char *name = arguments[at], copy[64];
    if (name[0] != '-') refuse("only options are taken, not", name);
    name += name[1] == '-' ? 2 : 1;
    char *value = strchr(name, '=');
    snprintf(copy, sizeof copy, "%.*s", (int)(value ? value - name : (long)strlen(name)), name);
    if (strcmp(copy, "help") == 0 || strcmp(copy, "h") == 0) {
      fputs(HELP, stdout);
      exit(0);
    }
    if (strcmp(copy, "version") == 0) {
      printf("machine-micro-server %s (commit %s)\n", MICRO_VERSION, MICRO_COMMIT);
      exit(0);
    }
    if (strcmp(copy, "debug") == 0 && !value) {
      options->debug = true;
      continue;
    }
    if (strcmp(copy, "no-tls") == 0 && !value) {
      options->no_tls = true;
      continue;
    }
    static const char *const WITH_VALUE[] = {"config", "state", "listen", "ca-file", "heap-mb"};
    size_t known = 0, all = sizeof WITH_VALUE / sizeof *WITH_VALUE;
    while (known < all && strcmp(copy, WITH_VALUE[known]) != 0) known++;
    if (known == all) refuse("there is no option", arguments[at]);
    if (value) value++;
    else if (at + 1 < count) value = arguments[++at];
    if (!value || !*value) refuse("there is no value after", arguments[at]);
    // Own memory: the arguments are given to the next image as they are.
    value = strdup(value);
    if (known == 0) options->config = value;
    else if (known == 1) options->state = value;
    else if (known == 2) read_listen(value, options);
    else if (known == 3) options->ca_file = value;
    else options->heap = (size_t)number(value, 1, 512, "-heap-mb") << 20;
  }
}
