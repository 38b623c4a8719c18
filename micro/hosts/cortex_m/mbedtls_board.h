// mbedTLS's settings for a board: those of all hosts, without files, sockets and a system's randomness.
#include "mbedtls_user.h"

// Others may send as much at once as TLS allows; what is sent goes in smaller pieces.
#define MBEDTLS_SSL_OUT_CONTENT_LEN 4096

#undef MBEDTLS_FS_IO
#define MBEDTLS_NO_PLATFORM_ENTROPY
#define MBEDTLS_ENTROPY_HARDWARE_ALT
#define MBEDTLS_PLATFORM_MS_TIME_ALT
#define MBEDTLS_PLATFORM_GMTIME_R_ALT
