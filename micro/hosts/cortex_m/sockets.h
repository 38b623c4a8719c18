// The part of BSD sockets that net.c uses, without blocking, on lwIP.
#ifndef MICRO_SOCKETS_H
#define MICRO_SOCKETS_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef uint32_t socklen_t;

struct in_addr {
  /** In network order. */
  uint32_t s_addr;
};

struct sockaddr {
  uint16_t sa_family;
  uint8_t sa_data[14];
};

struct sockaddr_in {
  uint16_t sin_family, sin_port;
  struct in_addr sin_addr;
  uint8_t sin_zero[8];
};

struct pollfd {
  int fd;
  short events, revents;
};

enum {
  AF_INET = 2,
  SOCK_STREAM = 1,
  SOCK_NONBLOCK = 0,
  SOCK_CLOEXEC = 0,
  SOL_SOCKET = 1,
  SO_REUSEADDR = 2,
  SO_ERROR = 4,
  IPPROTO_TCP = 6,
  TCP_NODELAY = 1,
  MSG_NOSIGNAL = 0,
  SHUT_WR = 1,
  POLLIN = 1,
  POLLOUT = 4,
  POLLERR = 8,
  POLLHUP = 16,
};

#define htons(number) __builtin_bswap16(number)
#define ntohs(number) __builtin_bswap16(number)
#define htonl(number) __builtin_bswap32(number)
#define ntohl(number) __builtin_bswap32(number)

int socket(int family, int type, int protocol);
int connect(int fd, const struct sockaddr *to, socklen_t size);
int bind(int fd, const struct sockaddr *at, socklen_t size);
int listen(int fd, int backlog);
int accept4(int fd, struct sockaddr *peer, socklen_t *size, int flags);
int getsockname(int fd, struct sockaddr *at, socklen_t *size);
int getsockopt(int fd, int level, int name, void *value, socklen_t *size);
int setsockopt(int fd, int level, int name, const void *value, socklen_t size);
ssize_t send(int fd, const void *bytes, size_t length, int flags);
ssize_t recv(int fd, void *bytes, size_t length, int flags);
int shutdown(int fd, int how);
int socket_close(int fd);
#define close socket_close
/** Waits for the network and for time; `timeout` in milliseconds, -1 for ever. */
int poll(struct pollfd *fds, unsigned count, int timeout);
int inet_pton(int family, const char *text, void *address);
const char *inet_ntop(int family, const void *address, char *text, socklen_t size);

#endif
