#include <mbedtls/x509_crt.h>
#include <psa/crypto.h>
#include <stdio.h>
#include <stdlib.h>

#include "../native/tls.h"
#include "host.h"

// Where systems keep the authorities they trust, in PEM.
static const char *const STORES[] = {
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",             "/etc/ssl/cert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
};

static const char *own_file;

const char *tls_trust(const char *file) {
  static char problem[512];
  mbedtls_x509_crt tried;
  psa_crypto_init();
  mbedtls_x509_crt_init(&tried);
  int failed = mbedtls_x509_crt_parse_file(&tried, file);
  mbedtls_x509_crt_free(&tried);
  if (failed) {
    snprintf(problem, sizeof problem, "%s has no certificates in PEM form, or cannot be read", file);
    return problem;
  }
  own_file = file;
  return NULL;
}

// Some 130 authorities take about 0.6 MB.
const char *tls_roots(mbedtls_x509_crt *roots) {
  const char *named = getenv("SSL_CERT_FILE");
  if (named && *named) {
    mbedtls_x509_crt_parse_file(roots, named);
  } else {
    for (size_t i = 0; i < sizeof STORES / sizeof *STORES && !roots->raw.len; i++) {
      mbedtls_x509_crt_parse_file(roots, STORES[i]);
    }
  }
  if (own_file) mbedtls_x509_crt_parse_file(roots, own_file);
  if (roots->raw.len) return NULL;
  return "this system has no list of certificate authorities, so no certificate can be checked; "
         "install the package ca-certificates, or name a file with -ca-file or SSL_CERT_FILE";
}
