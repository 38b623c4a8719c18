#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>

#include "../native/platform.h"

bool net_local_address(char *text, size_t size) {
  struct ifaddrs *all;
  bool found = false;
  if (getifaddrs(&all)) return false;
  for (struct ifaddrs *each = all; each && !found; each = each->ifa_next) {
    if (!each->ifa_addr || each->ifa_addr->sa_family != AF_INET) continue;
    if ((each->ifa_flags & IFF_LOOPBACK) || !(each->ifa_flags & IFF_UP)) continue;
    struct in_addr *address = &((struct sockaddr_in *)each->ifa_addr)->sin_addr;
    found = inet_ntop(AF_INET, address, text, size) != NULL;
  }
  freeifaddrs(all);
  return found;
}
