// lwIP's settings: without an operating system, all memory from the heap.
#ifndef MICRO_LWIPOPTS_H
#define MICRO_LWIPOPTS_H

#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_SOCKET 0
#define LWIP_NETCONN 0
#define LWIP_IPV6 0
#define LWIP_DHCP 1
#define LWIP_DHCP_DOES_ACD_CHECK 0
#define LWIP_ACD 0
#define LWIP_DNS 1
#define DNS_MAX_NAME_LENGTH 254
#define DNS_TABLE_SIZE 2
#define LWIP_RAW 0
#define LWIP_STATS 0
#define LWIP_NETIF_HOSTNAME 1
#define LWIP_NETIF_LOOPBACK 0

#define MEM_LIBC_MALLOC 1
#define MEMP_MEM_MALLOC 1
#define MEM_ALIGNMENT 4

// Connections are bounded by net.c.
#define TCP_MSS 1460
// The ethernet chip keeps 10 KB and drops the rest, as may happen when flash is being written.
#define TCP_WND (4 * TCP_MSS)
#define TCP_SND_BUF (6 * TCP_MSS)
#define TCP_SND_QUEUELEN 24
#define MEMP_NUM_TCP_SEG 256
#define TCP_LISTEN_BACKLOG 1
#define TCP_DEFAULT_LISTEN_BACKLOG 8
#define LWIP_TCP_KEEPALIVE 1

// sockets.h has them.
#define LWIP_DONT_PROVIDE_BYTEORDER_FUNCTIONS
#define LWIP_RAND() ((u32_t)lwip_random())
unsigned lwip_random(void);

#endif
