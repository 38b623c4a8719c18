// The authorities that the device trusts: what was saved in flash under `roots`, as a text in PEM.
#include <mbedtls/x509_crt.h>
#include <stdlib.h>

#include "../native/platform.h"
#include "../native/tls.h"

const char *tls_roots(mbedtls_x509_crt *roots) {
  uint8_t *text;
  size_t length;
  const char *problem = flash_read("roots", &text, &length);
  if (problem) return problem;
  if (!text) {
    return "the device has no certificate authorities, so no certificate can be checked; make its "
           "flash with the file of an authority";
  }
  text[length] = '\0';
  int failed = mbedtls_x509_crt_parse(roots, text, length + 1);
  free(text);
  return failed && !roots->raw.len ? "the device's certificate authorities are not PEM" : NULL;
}
