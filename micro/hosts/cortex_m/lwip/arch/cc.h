#ifndef MICRO_LWIP_CC_H
#define MICRO_LWIP_CC_H

void lwip_failed(const char *what);

#define LWIP_PLATFORM_DIAG(arguments)
#define LWIP_PLATFORM_ASSERT(what) lwip_failed(what)

#endif
