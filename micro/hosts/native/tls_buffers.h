// Buffers of a TLS connection, which have their size only while a record is in them: as long as it is
// idle some bytes for each direction do, in place of 20 KiB.
#ifndef MICRO_TLS_BUFFERS_H
#define MICRO_TLS_BUFFERS_H

#include <mbedtls/ssl.h>
#include <stdbool.h>
#include <stddef.h>

/** Of a connection: how large they are in use; 0 until they were made small for the first time. */
typedef struct {
  size_t in, out;
} tls_buffers;

/** Makes room for a record to be sent, and for one to be received. False: there is no memory for it. */
bool tls_buffers_grow(mbedtls_ssl_context *of, const tls_buffers *sizes, bool receives);

/** Gives back what nothing is in; during the handshake, too, while it waits for the peer. */
void tls_buffers_shrink(mbedtls_ssl_context *of, tls_buffers *sizes);

#endif
