// What net.c needs to find the address of a name; each platform has its own.
#ifndef MICRO_DNS_H
#define MICRO_DNS_H

#include <stdint.h>

typedef struct dns_query dns_query;

/** NULL and `*problem` when it cannot; `*address` at once for what needs no server. */
dns_query *dns_start(const char *name, uint32_t *address, const char **problem);
/** A descriptor to wait for, or -1. */
int dns_fd(const dns_query *query);
/** When the query wants dns_step() though nothing came. */
double dns_until(const dns_query *query);
/** 0: not yet, 1: there is an address (network order), -1: failed, with `*problem`. */
int dns_step(dns_query *query, uint32_t *address, const char **problem);
void dns_free(dns_query *query);

#endif
