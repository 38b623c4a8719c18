// TLS over a socket that does not block. Certificates are always checked: by name, time and issuer.
#ifndef MICRO_TLS_H
#define MICRO_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tls tls;
typedef struct tls_server tls_server;

struct mbedtls_x509_crt;

/** Adds the authorities that the platform trusts. NULL, or what is wrong. Each platform has its own. */
const char *tls_roots(struct mbedtls_x509_crt *roots);

/** A client for `fd` that expects a certificate for `name`; NULL and `*problem` when it cannot be. */
tls *tls_client(int fd, const char *name, const char **problem);

/** What a port needs to accept TLS: PEM texts. NULL and `*problem` when they do not fit. */
tls_server *tls_server_new(const char *certificate, const char *key, const char **problem);
void tls_server_free(tls_server *server);
tls *tls_accept(int fd, tls_server *server);

/** Results of what follows, where they are not a count of bytes. */
enum { TLS_WANTS_READ = -1, TLS_WANTS_WRITE = -2, TLS_FAILED = -3 };

/** 0 when done. */
int tls_handshake(tls *of);
/** 0: the peer ended. */
int tls_read(tls *of, uint8_t *bytes, size_t length);
int tls_write(tls *of, const uint8_t *bytes, size_t length);
/** Whether bytes were read from the socket that tls_read has not given yet. */
bool tls_pending(tls *of);
/** Tells the peer that nothing more is sent. */
void tls_end(tls *of);
/** Why a call failed, for a person; valid until the next call. */
const char *tls_problem(tls *of);
void tls_free(tls *of);

#endif
