#include "tls.h"

#include <errno.h>
#include <mbedtls/error.h>
#include <mbedtls/platform.h>
#include <mbedtls/ssl.h>
#include <mbedtls/x509_crt.h>
#include <psa/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform.h"
#include "sockets.h"
#include "tls_buffers.h"

struct tls {
  mbedtls_ssl_context ssl;
  tls_buffers buffers;
  int fd;
  int last;
  // What a write that has to be done again was about.
  size_t again;
  char name[256];
};

struct tls_server {
  mbedtls_ssl_config config;
  mbedtls_x509_crt certificate;
  mbedtls_pk_context key;
};

static mbedtls_x509_crt roots;
static mbedtls_ssl_config client_config;
static bool client_ready;

static int random_for_tls(void *context, unsigned char *bytes, size_t length) {
  platform_random(bytes, length);
  return 0;
}

static int send_plain(void *context, const unsigned char *bytes, size_t length) {
  ssize_t sent = send(((tls *)context)->fd, bytes, length, MSG_NOSIGNAL);
  if (sent >= 0) return (int)sent;
  return errno == EAGAIN || errno == EINTR ? MBEDTLS_ERR_SSL_WANT_WRITE
                                           : MBEDTLS_ERR_SSL_CONN_EOF;
}

static int receive_plain(void *context, unsigned char *bytes, size_t length) {
  ssize_t got = recv(((tls *)context)->fd, bytes, length, 0);
  if (got >= 0) return (int)got;
  return errno == EAGAIN || errno == EINTR ? MBEDTLS_ERR_SSL_WANT_READ : MBEDTLS_ERR_SSL_CONN_EOF;
}

static void prepare_config(mbedtls_ssl_config *config, int endpoint) {
  psa_crypto_init();
  mbedtls_ssl_config_init(config);
  mbedtls_ssl_config_defaults(config, endpoint, MBEDTLS_SSL_TRANSPORT_STREAM,
                              MBEDTLS_SSL_PRESET_DEFAULT);
  mbedtls_ssl_conf_rng(config, random_for_tls, NULL);
}

// Read with the first connection and kept.
static const char *prepare_client(void) {
  if (client_ready) return NULL;
  mbedtls_x509_crt_init(&roots);
  const char *problem = tls_roots(&roots);
  if (problem) {
    mbedtls_x509_crt_free(&roots);
    return problem;
  }
  prepare_config(&client_config, MBEDTLS_SSL_IS_CLIENT);
  mbedtls_ssl_conf_ca_chain(&client_config, &roots, NULL);
  mbedtls_ssl_conf_authmode(&client_config, MBEDTLS_SSL_VERIFY_REQUIRED);
  client_ready = true;
  return NULL;
}

static tls *make(int fd, const mbedtls_ssl_config *config) {
  tls *made = calloc(1, sizeof *made);
  if (!made) return NULL;
  made->fd = fd;
  mbedtls_ssl_init(&made->ssl);
  if (mbedtls_ssl_setup(&made->ssl, config)) {
    tls_free(made);
    return NULL;
  }
  mbedtls_ssl_set_bio(&made->ssl, made, send_plain, receive_plain, NULL);
  tls_buffers_start(&made->ssl, &made->buffers);
  return made;
}

tls *tls_client(int fd, const char *name, const char **problem) {
  *problem = prepare_client();
  if (*problem) return NULL;
  tls *made = make(fd, &client_config);
  if (!made || mbedtls_ssl_set_hostname(&made->ssl, name)) {
    if (made) tls_free(made);
    *problem = "there is not enough memory for TLS";
    return NULL;
  }
  snprintf(made->name, sizeof made->name, "%s", name);
  return made;
}

tls_server *tls_server_new(const char *certificate, const char *key, const char **problem) {
  tls_server *server = calloc(1, sizeof *server);
  if (!server) {
    *problem = "there is not enough memory for TLS";
    return NULL;
  }
  prepare_config(&server->config, MBEDTLS_SSL_IS_SERVER);
  // Browsers offer both, and speak gRPC-web; clients of native gRPC offer HTTP/2 alone.
  static const char *protocols[] = {"http/1.1", "h2", NULL};
  mbedtls_ssl_conf_alpn_protocols(&server->config, protocols);
  mbedtls_x509_crt_init(&server->certificate);
  mbedtls_pk_init(&server->key);
  const unsigned char *chain = (const unsigned char *)certificate, *secret = (const unsigned char *)key;
  *problem = NULL;
  if (mbedtls_x509_crt_parse(&server->certificate, chain, strlen(certificate) + 1)) {
    *problem = "the certificate of the port is not PEM";
  } else if (mbedtls_pk_parse_key(&server->key, secret, strlen(key) + 1, NULL, 0, random_for_tls,
                                  NULL)) {
    *problem = "the private key of the port is not PEM without password";
  } else if (mbedtls_pk_check_pair(&server->certificate.pk, &server->key, random_for_tls, NULL) ||
             mbedtls_ssl_conf_own_cert(&server->config, &server->certificate, &server->key)) {
    *problem = "the private key of the port is not that of its certificate";
  }
  if (!*problem) return server;
  tls_server_free(server);
  return NULL;
}

void tls_server_free(tls_server *server) {
  mbedtls_ssl_config_free(&server->config);
  mbedtls_x509_crt_free(&server->certificate);
  mbedtls_pk_free(&server->key);
  free(server);
}

tls *tls_accept(int fd, tls_server *server) {
  return make(fd, &server->config);
}

static int result_of(tls *of, int result) {
  of->last = result;
  // A peer of TLS 1.3 may send tickets at any time.
  if (result == MBEDTLS_ERR_SSL_WANT_READ || result == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET) {
    return TLS_WANTS_READ;
  }
  if (result == MBEDTLS_ERR_SSL_WANT_WRITE) return TLS_WANTS_WRITE;
  return TLS_FAILED;
}

// It was checked, and nobody looks at it again: some kilobytes for each connection.
static void forget_certificate(mbedtls_ssl_context *of) {
  mbedtls_ssl_session *session = of->MBEDTLS_PRIVATE(session);
  if (!session || !session->MBEDTLS_PRIVATE(peer_cert)) return;
  mbedtls_x509_crt_free(session->MBEDTLS_PRIVATE(peer_cert));
  mbedtls_free(session->MBEDTLS_PRIVATE(peer_cert));
  session->MBEDTLS_PRIVATE(peer_cert) = NULL;
}

// Whether a call that failed is to be made again, as the record that comes has room now.
static bool has_room_now(tls *of, int result) {
  return result == MBEDTLS_ERR_SSL_BAD_INPUT_DATA && tls_buffers_fit(&of->ssl, &of->buffers);
}

int tls_handshake(tls *of) {
  if (!tls_buffers_grow(&of->ssl, &of->buffers)) {
    return result_of(of, MBEDTLS_ERR_SSL_ALLOC_FAILED);
  }
  int result;
  do result = mbedtls_ssl_handshake(&of->ssl);
  while (has_room_now(of, result));
  // Others begin meanwhile.
  if (result == MBEDTLS_ERR_SSL_WANT_READ) tls_buffers_shrink(&of->ssl);
  if (result) return result_of(of, result);
  forget_certificate(&of->ssl);
  tls_buffers_shrink(&of->ssl);
  return 0;
}

int tls_read(tls *of, uint8_t *bytes, size_t length) {
  // It may have to answer.
  if (!tls_buffers_grow(&of->ssl, &of->buffers)) {
    return result_of(of, MBEDTLS_ERR_SSL_ALLOC_FAILED);
  }
  int result;
  do result = mbedtls_ssl_read(&of->ssl, bytes, length);
  while (result == MBEDTLS_ERR_SSL_RECEIVED_NEW_SESSION_TICKET || has_room_now(of, result));
  tls_buffers_shrink(&of->ssl);
  if (result >= 0) return result;
  // A connection that is cut off without a word of TLS may have lost bytes, which HTTP notices.
  if (result == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY || result == MBEDTLS_ERR_SSL_CONN_EOF) return 0;
  return result_of(of, result);
}

int tls_write(tls *of, const uint8_t *bytes, size_t length) {
  if (!tls_buffers_grow(&of->ssl, &of->buffers)) {
    return result_of(of, MBEDTLS_ERR_SSL_ALLOC_FAILED);
  }
  // What could not be sent has to be given again with the same length.
  int result = mbedtls_ssl_write(&of->ssl, bytes, of->again ? of->again : length);
  tls_buffers_shrink(&of->ssl);
  if (result >= 0) {
    of->again = 0;
    return result;
  }
  if (!of->again) of->again = length;
  return result_of(of, result);
}

bool tls_pending(tls *of) {
  return mbedtls_ssl_get_bytes_avail(&of->ssl) > 0;
}

void tls_end(tls *of) {
  if (tls_buffers_grow(&of->ssl, &of->buffers)) mbedtls_ssl_close_notify(&of->ssl);
}

const char *tls_problem(tls *of) {
  static char problem[512];
  uint32_t flags = mbedtls_ssl_get_verify_result(&of->ssl);
  if (of->last == MBEDTLS_ERR_X509_CERT_VERIFY_FAILED && flags) {
    char why[256];
    mbedtls_x509_crt_verify_info(why, sizeof why, "", flags);
    // One line for each reason.
    for (char *at = why; *at; at++) {
      if (*at == '\n') *at = at[1] ? ' ' : '\0';
    }
    snprintf(problem, sizeof problem,
             "the certificate of %s is refused: %s. Where it is from an authority of your own, name "
             "that with -ca-file",
             of->name, why);
  } else if (of->last == MBEDTLS_ERR_SSL_CONN_EOF) {
    snprintf(problem, sizeof problem, "the peer ended the connection during TLS");
  } else {
    char why[128];
    mbedtls_strerror(of->last, why, sizeof why);
    snprintf(problem, sizeof problem, "TLS failed: %s", why);
  }
  return problem;
}

void tls_free(tls *of) {
  mbedtls_ssl_free(&of->ssl);
  free(of);
}
