// What the parts of the Linux host share beyond platform.h.
#ifndef MICRO_HOST_H
#define MICRO_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Starts the program again in place of this one; returns when that is not possible. */
void host_exec(void);

/** Opens or makes the folder of state and locks it. NULL, or what is wrong. */
const char *flash_open(const char *folder);

/**
 * Reads what is known of the images below `folder`, and takes the place of this process with the
 * image that is to run, where that is another one. Returns when this one is.
 */
void firmware_start(const char *folder, char **arguments);

/** Writes a file in one step: afterwards there is the old or the new one. NULL, or what is wrong. */
const char *file_write(int folder, const char *name, const void *bytes, size_t length);

/** Whether a name is a file's and no path: letters, digits, `-`, `_`; 1 to 31 of them. */
bool file_name_fits(const char *name);

/** Asks for the IPv4 address of a name; see dns.c. */
typedef struct dns_query dns_query;
/** NULL and `*problem` when it cannot; `*address` at once for what needs no server. */
dns_query *dns_start(const char *name, uint32_t *address, const char **problem);
int dns_fd(const dns_query *query);
/** When the query wants dns_step() though nothing came. */
double dns_until(const dns_query *query);
/** 0: not yet, 1: there is an address (network order), -1: failed, with `*problem`. */
int dns_step(dns_query *query, uint32_t *address, const char **problem);
void dns_free(dns_query *query);

#endif
