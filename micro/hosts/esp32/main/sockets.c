#include "sockets.h"

#include <stdbool.h>

static int without_blocking(int fd) {
  if (fd < 0) return fd;
  int flags = lwip_fcntl(fd, F_GETFL, 0);
  if (flags >= 0 && lwip_fcntl(fd, F_SETFL, flags | O_NONBLOCK) >= 0) return fd;
  lwip_close(fd);
  return -1;
}

int socket_open(int family, int type, int protocol) {
  return without_blocking(lwip_socket(family, type, protocol));
}

int socket_accept(int fd, struct sockaddr *peer, socklen_t *size) {
  return without_blocking(lwip_accept(fd, peer, size));
}

// By select(), as lwIP's poll() is not in every build of it.
int socket_poll(struct pollfd *fds, unsigned count, int timeout) {
  fd_set readable, writable, failed;
  FD_ZERO(&readable);
  FD_ZERO(&writable);
  FD_ZERO(&failed);
  int highest = -1;
  for (unsigned i = 0; i < count; i++) {
    int fd = fds[i].fd;
    fds[i].revents = 0;
    if (fd < 0) continue;
    if (fds[i].events & POLLIN) FD_SET(fd, &readable);
    if (fds[i].events & POLLOUT) FD_SET(fd, &writable);
    FD_SET(fd, &failed);
    if (fd > highest) highest = fd;
  }
  struct timeval wait = {.tv_sec = timeout / 1000, .tv_usec = timeout % 1000 * 1000};
  int found = lwip_select(highest + 1, &readable, &writable, &failed, timeout < 0 ? NULL : &wait);
  for (unsigned i = 0; i < count && found > 0; i++) {
    int fd = fds[i].fd;
    if (fd < 0) continue;
    if (FD_ISSET(fd, &readable)) fds[i].revents |= POLLIN;
    if (FD_ISSET(fd, &writable)) fds[i].revents |= POLLOUT;
    if (FD_ISSET(fd, &failed)) fds[i].revents |= POLLERR;
  }
  return found;
}
