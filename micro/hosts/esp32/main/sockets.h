// lwIP's sockets, as the sources that all hosts share have them: without blocking from the start.
#ifndef MICRO_SOCKETS_H
#define MICRO_SOCKETS_H

#include <errno.h>
#include <lwip/sockets.h>

#define SOCK_NONBLOCK 0
#define SOCK_CLOEXEC 0

int socket_open(int family, int type, int protocol);
int socket_accept(int fd, struct sockaddr *peer, socklen_t *size);
int socket_poll(struct pollfd *fds, unsigned count, int timeout);

#undef socket
#undef close
#undef poll
#define socket socket_open
#define accept4(fd, peer, size, flags) socket_accept(fd, peer, size)
#define close lwip_close
#define poll socket_poll

#endif
