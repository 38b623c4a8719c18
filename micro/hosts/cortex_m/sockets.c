#include "sockets.h"

#include <lwip/ip4_addr.h>
#include <lwip/priv/tcp_priv.h>
#include <lwip/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../native/platform.h"
#include "board/board.h"
#include "host.h"

#define MOST_SOCKETS 24
#define MOST_WAITING 8
/** Connections that were closed here: as many whose peer has not said so yet, and as many that lwIP keeps
    for two minutes longer, for packets that come late. The oldest are dropped. */
#define MOST_CLOSED 16

typedef struct sock {
  struct tcp_pcb *pcb;
  bool connected, ended, listening;
  /** Why the connection is no more. */
  int problem;
  struct pbuf *in;
  uint16_t port;
  /** Of a port: connections that wait for accept4(). */
  struct sock *waiting[MOST_WAITING];
  int waiting_count;
} sock;

static sock *sockets[MOST_SOCKETS];

static sock *find(int fd) {
  sock *of = fd >= 0 && fd < MOST_SOCKETS ? sockets[fd] : NULL;
  if (!of) errno = EBADF;
  return of;
}

static int place(sock *of) {
  for (int fd = 0; fd < MOST_SOCKETS; fd++) {
    if (sockets[fd]) continue;
    sockets[fd] = of;
    return fd;
  }
  errno = EMFILE;
  return -1;
}

static err_t on_connected(void *context, struct tcp_pcb *pcb, err_t result) {
  ((sock *)context)->connected = result == ERR_OK;
  return ERR_OK;
}

static err_t on_received(void *context, struct tcp_pcb *pcb, struct pbuf *bytes, err_t result) {
  sock *of = context;
  if (!bytes) of->ended = true;
  else if (of->in) pbuf_cat(of->in, bytes);
  else of->in = bytes;
  return ERR_OK;
}

// lwIP has freed the pcb.
static void on_error(void *context, err_t result) {
  sock *of = context;
  of->pcb = NULL;
  of->problem = result == ERR_RST && !of->connected ? ECONNREFUSED
                : result == ERR_RST                 ? ECONNRESET
                                                    : ETIMEDOUT;
}

static void follow(sock *of, struct tcp_pcb *pcb) {
  of->pcb = pcb;
  tcp_arg(pcb, of);
  tcp_recv(pcb, on_received);
  tcp_err(pcb, on_error);
}

int socket(int family, int type, int protocol) {
  sock *of = calloc(1, sizeof *of);
  struct tcp_pcb *pcb = of ? tcp_new() : NULL;
  if (!pcb) {
    free(of);
    errno = ENOMEM;
    return -1;
  }
  follow(of, pcb);
  int fd = place(of);
  if (fd >= 0) return fd;
  tcp_abort(pcb);
  free(of);
  return -1;
}

static int failed(err_t result) {
  errno = result == ERR_RTE ? ENETUNREACH : result == ERR_USE ? EADDRINUSE : ENOMEM;
  return -1;
}

int connect(int fd, const struct sockaddr *to, socklen_t size) {
  sock *of = find(fd);
  if (!of) return -1;
  const struct sockaddr_in *where = (const struct sockaddr_in *)to;
  ip_addr_t address = {where->sin_addr.s_addr};
  err_t result = tcp_connect(of->pcb, &address, ntohs(where->sin_port), on_connected);
  if (result != ERR_OK) return failed(result);
  errno = EINPROGRESS;
  return -1;
}

int bind(int fd, const struct sockaddr *at, socklen_t size) {
  sock *of = find(fd);
  if (!of) return -1;
  err_t result = tcp_bind(of->pcb, IP4_ADDR_ANY, ntohs(((const struct sockaddr_in *)at)->sin_port));
  return result == ERR_OK ? 0 : failed(result);
}

static err_t on_accepted(void *context, struct tcp_pcb *pcb, err_t result) {
  sock *port = context;
  sock *of = result == ERR_OK && port->waiting_count < MOST_WAITING ? calloc(1, sizeof *of) : NULL;
  // Without one lwIP ends the connection.
  if (!of) return ERR_MEM;
  of->connected = true;
  follow(of, pcb);
  port->waiting[port->waiting_count++] = of;
  return ERR_OK;
}

int listen(int fd, int backlog) {
  sock *of = find(fd);
  if (!of) return -1;
  err_t result;
  struct tcp_pcb *pcb = tcp_listen_with_backlog_and_err(of->pcb, MOST_WAITING, &result);
  if (!pcb) return failed(result);
  of->pcb = pcb;
  of->listening = true;
  of->port = pcb->local_port;
  tcp_arg(pcb, of);
  tcp_accept(pcb, on_accepted);
  return 0;
}

int accept4(int fd, struct sockaddr *peer, socklen_t *size, int flags) {
  sock *port = find(fd);
  if (!port) return -1;
  if (port->waiting_count == 0) {
    errno = EAGAIN;
    return -1;
  }
  sock *of = port->waiting[0];
  int made = place(of);
  if (made < 0) return -1;
  port->waiting_count--;
  memmove(port->waiting, port->waiting + 1, port->waiting_count * sizeof *port->waiting);
  struct sockaddr_in from = {.sin_family = AF_INET};
  if (of->pcb) {
    from.sin_addr.s_addr = ip_2_ip4(&of->pcb->remote_ip)->addr;
    from.sin_port = htons(of->pcb->remote_port);
  }
  memcpy(peer, &from, sizeof from);
  return made;
}

int getsockname(int fd, struct sockaddr *at, socklen_t *size) {
  sock *of = find(fd);
  if (!of) return -1;
  ((struct sockaddr_in *)at)->sin_port = htons(of->port);
  return 0;
}

int getsockopt(int fd, int level, int name, void *value, socklen_t *size) {
  sock *of = find(fd);
  if (!of) return -1;
  memcpy(value, &of->problem, sizeof of->problem);
  return 0;
}

int setsockopt(int fd, int level, int name, const void *value, socklen_t size) {
  sock *of = find(fd);
  if (!of) return -1;
  if (level == IPPROTO_TCP && of->pcb) tcp_nagle_disable(of->pcb);
  return 0;
}

ssize_t send(int fd, const void *bytes, size_t length, int flags) {
  sock *of = find(fd);
  if (!of) return -1;
  if (!of->pcb) {
    errno = of->problem ? of->problem : EPIPE;
    return -1;
  }
  size_t size = tcp_sndbuf(of->pcb);
  if (size > length) size = length;
  err_t result = ERR_MEM;
  // Less where the queue has room for less.
  while (size > 0 && (result = tcp_write(of->pcb, bytes, (u16_t)size, TCP_WRITE_FLAG_COPY)) == ERR_MEM) {
    size /= 2;
  }
  if (result != ERR_OK) {
    errno = result == ERR_MEM ? EAGAIN : EPIPE;
    return -1;
  }
  tcp_output(of->pcb);
  return (ssize_t)size;
}

ssize_t recv(int fd, void *bytes, size_t length, int flags) {
  sock *of = find(fd);
  if (!of) return -1;
  if (of->in) {
    size_t size = of->in->tot_len < length ? of->in->tot_len : length;
    pbuf_copy_partial(of->in, bytes, (u16_t)size, 0);
    of->in = pbuf_free_header(of->in, (u16_t)size);
    if (of->pcb) tcp_recved(of->pcb, (u16_t)size);
    return (ssize_t)size;
  }
  if (of->ended) return 0;
  errno = of->problem ? of->problem : EAGAIN;
  return -1;
}

int shutdown(int fd, int how) {
  sock *of = find(fd);
  if (of && of->pcb) tcp_shutdown(of->pcb, 0, 1);
  return of ? 0 : -1;
}

static void end(sock *of) {
  if (of->pcb && of->listening) {
    tcp_arg(of->pcb, NULL);
    tcp_accept(of->pcb, NULL);
    tcp_close(of->pcb);
  } else if (of->pcb) {
    tcp_arg(of->pcb, NULL);
    tcp_recv(of->pcb, NULL);
    tcp_err(of->pcb, NULL);
    // What nobody reads is not said to have been read.
    if (of->in || tcp_close(of->pcb) != ERR_OK) tcp_abort(of->pcb);
  }
  if (of->in) pbuf_free(of->in);
  for (int i = 0; i < of->waiting_count; i++) end(of->waiting[i]);
  free(of);
}

// Those that were heard of last are first.
static void give_up_closed(struct tcp_pcb *first) {
  int count = 0;
  for (struct tcp_pcb *pcb = first, *next; pcb; pcb = next) {
    next = pcb->next;
    if (!pcb->callback_arg && ++count > MOST_CLOSED) tcp_abort(pcb);
  }
}

int socket_close(int fd) {
  sock *of = find(fd);
  if (!of) return -1;
  sockets[fd] = NULL;
  end(of);
  give_up_closed(tcp_active_pcbs);
  give_up_closed(tcp_tw_pcbs);
  return 0;
}

static short events_of(const sock *of) {
  if (of->listening) return of->waiting_count > 0 ? POLLIN : 0;
  short events = 0;
  if (of->in || of->ended) events |= POLLIN;
  if (of->problem) events |= POLLIN | POLLOUT | POLLERR;
  if (of->pcb && of->connected && tcp_sndbuf(of->pcb) > 0 &&
      tcp_sndqueuelen(of->pcb) < TCP_SND_QUEUELEN - 2) {
    events |= POLLOUT;
  }
  return events;
}

int poll(struct pollfd *fds, unsigned count, int timeout) {
  double until = platform_now() + timeout;
  for (;;) {
    network_poll();
    int found = 0;
    for (unsigned i = 0; i < count; i++) {
      const sock *of = fds[i].fd >= 0 && fds[i].fd < MOST_SOCKETS ? sockets[fds[i].fd] : NULL;
      fds[i].revents = of ? events_of(of) & (fds[i].events | POLLERR) : 0;
      found += fds[i].revents != 0;
    }
    if (found > 0 || (timeout >= 0 && platform_now() >= until)) return found;
    board_wait();
  }
}

int inet_pton(int family, const char *text, void *address) {
  ip4_addr_t parsed;
  if (!ip4addr_aton(text, &parsed)) return 0;
  memcpy(address, &parsed.addr, 4);
  return 1;
}

const char *inet_ntop(int family, const void *address, char *text, socklen_t size) {
  ip4_addr_t given;
  memcpy(&given.addr, address, 4);
  return ip4addr_ntoa_r(&given, text, (int)size);
}
