#define MBEDTLS_ALLOW_PRIVATE_ACCESS
#include "tls_buffers.h"

#include <mbedtls/platform.h>
#include <mbedtls/platform_util.h>
#include <string.h>

#ifdef MBEDTLS_SSL_VARIABLE_BUFFER_LENGTH

/** The sequence number of what is received is in the first 8; pointers go to the bytes after it. */
#define SMALL 64
#define SEQUENCE_NUMBER 8
/** Of a record: its type, a version and its length. */
#define HEADER 5

static unsigned char *moved(unsigned char *pointer, unsigned char *from, unsigned char *to) {
  return pointer ? to + (pointer - from) : NULL;
}

static unsigned char *resized(unsigned char *before, size_t size, size_t wanted) {
  unsigned char *after = mbedtls_calloc(1, wanted);
  if (!after) return NULL;
  memcpy(after, before, size < wanted ? size : wanted);
  // There may be secrets of the last record in it.
  mbedtls_platform_zeroize(before, size);
  mbedtls_free(before);
  return after;
}

static bool resize_in(mbedtls_ssl_context *of, size_t wanted) {
  unsigned char *before = of->in_buf;
  unsigned char *after = resized(before, of->in_buf_len, wanted);
  if (!after) return false;
  of->in_buf = after;
  of->in_buf_len = wanted;
  of->in_ctr = moved(of->in_ctr, before, after);
  of->in_hdr = moved(of->in_hdr, before, after);
  of->in_len = moved(of->in_len, before, after);
  of->in_iv = moved(of->in_iv, before, after);
  of->in_msg = moved(of->in_msg, before, after);
  return true;
}

static bool resize_out(mbedtls_ssl_context *of, size_t wanted) {
  unsigned char *before = of->out_buf;
  unsigned char *after = resized(before, of->out_buf_len, wanted);
  if (!after) return false;
  of->out_buf = after;
  of->out_buf_len = wanted;
  of->out_ctr = moved(of->out_ctr, before, after);
  of->out_hdr = moved(of->out_hdr, before, after);
  of->out_len = moved(of->out_len, before, after);
  of->out_iv = moved(of->out_iv, before, after);
  of->out_msg = moved(of->out_msg, before, after);
  return true;
}

// Neither a part of a record, nor of a message that several records bring.
static bool holds_received(const mbedtls_ssl_context *of) {
  return of->in_left > 0 || mbedtls_ssl_check_pending(of) || of->badmac_seen_or_in_hsfraglen > 0 ||
         of->in_hdr != of->in_buf + SEQUENCE_NUMBER || of->in_msg > of->in_buf + SMALL;
}

void tls_buffers_start(mbedtls_ssl_context *of, tls_buffers *sizes) {
  *sizes = (tls_buffers){of->in_buf_len, of->out_buf_len};
  tls_buffers_shrink(of);
}

bool tls_buffers_grow(mbedtls_ssl_context *of, const tls_buffers *sizes) {
  return of->out_buf_len >= sizes->out || resize_out(of, sizes->out);
}

bool tls_buffers_fit(mbedtls_ssl_context *of, const tls_buffers *sizes) {
  size_t wanted = (size_t)(of->in_hdr - of->in_buf) + HEADER;
  // Its length is known when its header is there.
  if (of->in_left >= HEADER) wanted += (size_t)of->in_len[0] << 8 | of->in_len[1];
  return wanted > of->in_buf_len && wanted <= sizes->in && resize_in(of, wanted);
}

void tls_buffers_shrink(mbedtls_ssl_context *of) {
  if (of->in_buf_len > SMALL && !holds_received(of)) resize_in(of, SMALL);
  if (of->out_buf_len > SMALL && of->out_left == 0) resize_out(of, SMALL);
}

#else

void tls_buffers_start(mbedtls_ssl_context *of, tls_buffers *sizes) {}

bool tls_buffers_grow(mbedtls_ssl_context *of, const tls_buffers *sizes) {
  return true;
}

bool tls_buffers_fit(mbedtls_ssl_context *of, const tls_buffers *sizes) {
  return false;
}

void tls_buffers_shrink(mbedtls_ssl_context *of) {}

#endif
