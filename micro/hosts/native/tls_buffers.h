// Buffers of a TLS connection, which have the size of the record that is in them: as long as it is
// idle some bytes for each direction do, in place of 20 KiB.
#ifndef MICRO_TLS_BUFFERS_H
#define MICRO_TLS_BUFFERS_H

#include <mbedtls/ssl.h>
#include <stdbool.h>
#include <stddef.h>

/** Of a connection: how large the library made them. */
typedef struct {
  size_t in, out;
} tls_buffers;

/** Of a connection that was just made: makes its buffers small, and keeps their sizes. */
void tls_buffers_start(mbedtls_ssl_context *of, tls_buffers *sizes);

/** Makes room for a record to be sent. False: there is no memory for it. */
bool tls_buffers_grow(mbedtls_ssl_context *of, const tls_buffers *sizes);

/**
 * Makes room for the record that begins to come, after the library had none and said BAD_INPUT_DATA.
 * False: it was not for want of room, or there is no memory.
 */
bool tls_buffers_fit(mbedtls_ssl_context *of, const tls_buffers *sizes);

/** Gives back what nothing is in; during the handshake, too, while it waits for the peer. */
void tls_buffers_shrink(mbedtls_ssl_context *of);

#endif
