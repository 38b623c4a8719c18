// The system's sockets, for the sources that all hosts share.
#ifndef MICRO_SOCKETS_H
#define MICRO_SOCKETS_H

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#endif
