// The board's ethernet chip, SMSC LAN9118, and the network interface of lwIP that it is.
#include <lwip/dhcp.h>
#include <lwip/dns.h>
#include <lwip/etharp.h>
#include <lwip/init.h>
#include <lwip/timeouts.h>
#include <netif/ethernet.h>
#include <stdio.h>
#include <string.h>

#include "../native/platform.h"
#include "board/board.h"
#include "host.h"

#define CHIP(offset) REGISTER(0x40200000 + (offset))
#define RX_DATA CHIP(0x00)
#define TX_DATA CHIP(0x20)
#define RX_STATUS CHIP(0x40)
#define TX_STATUS CHIP(0x48)
#define IRQ_CONFIG CHIP(0x54)
#define INT_STATUS CHIP(0x58)
#define INT_ENABLE CHIP(0x5c)
#define BYTE_TEST CHIP(0x64)
#define FIFO_LEVELS CHIP(0x68)
#define RX_CONFIG CHIP(0x6c)
#define TX_CONFIG CHIP(0x70)
#define HW_CONFIG CHIP(0x74)
#define RX_FIFO CHIP(0x7c)
#define TX_FIFO CHIP(0x80)
#define MAC_COMMAND CHIP(0xa4)
#define MAC_VALUE CHIP(0xa8)

#define INT_RX_STATUS_LEVEL (1u << 3)
#define MAC_BUSY (1u << 31)
#define MAC_READ (1u << 30)
enum { MAC_CONTROL = 1, MAC_ADDRESS_HIGH = 2, MAC_ADDRESS_LOW = 3 };
#define MAC_RECEIVE (1u << 2)
#define MAC_TRANSMIT (1u << 3)
#define MAC_FULL_DUPLEX (1u << 20)
/** In the status of a packet that was received. */
#define RX_ERROR (1u << 15)
#define CHECKSUM 4u
#define LARGEST_FRAME 1518u

static struct netif interface;

static uint32_t mac_read(uint32_t index) {
  while (MAC_COMMAND & MAC_BUSY) {
  }
  MAC_COMMAND = MAC_BUSY | MAC_READ | index;
  while (MAC_COMMAND & MAC_BUSY) {
  }
  return MAC_VALUE;
}

static void mac_write(uint32_t index, uint32_t value) {
  while (MAC_COMMAND & MAC_BUSY) {
  }
  MAC_VALUE = value;
  MAC_COMMAND = MAC_BUSY | index;
}

static err_t transmit(struct netif *netif, struct pbuf *frame) {
  static uint32_t words[(LARGEST_FRAME + 3) / 4];
  uint32_t length = frame->tot_len;
  if (length > sizeof words) return ERR_BUF;
  if ((TX_FIFO & 0xffff) < length + 16) return ERR_MEM;
  pbuf_copy_partial(frame, words, (u16_t)length, 0);
  // First and last part in one.
  TX_DATA = 0x3000 | length;
  TX_DATA = length;
  for (uint32_t i = 0; i < (length + 3) / 4; i++) TX_DATA = words[i];
  while (TX_FIFO & 0xff0000) (void)TX_STATUS;
  return ERR_OK;
}

static void receive(void) {
  while ((RX_FIFO >> 16) & 0xff) {
    uint32_t status = RX_STATUS, length = (status >> 16) & 0x3fff;
    bool wanted = !(status & RX_ERROR) && length > CHECKSUM && length <= LARGEST_FRAME;
    struct pbuf *frame = wanted ? pbuf_alloc(PBUF_RAW, (u16_t)(length - CHECKSUM), PBUF_RAM) : NULL;
    for (uint32_t at = 0; at < length; at += 4) {
      uint32_t word = RX_DATA, size = length - CHECKSUM;
      if (frame && at < size) {
        memcpy((uint8_t *)frame->payload + at, &word, size - at < 4 ? size - at : 4);
      }
    }
    if (frame && interface.input(frame, &interface) != ERR_OK) pbuf_free(frame);
  }
  INT_STATUS = INT_RX_STATUS_LEVEL;
}

static err_t open_interface(struct netif *netif) {
  netif->name[0] = 'e';
  netif->name[1] = 'n';
  netif->mtu = 1500;
  netif->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET | NETIF_FLAG_LINK_UP;
  netif->hostname = "machine-micro-server";
  netif->output = etharp_output;
  netif->linkoutput = transmit;
  uint32_t low = mac_read(MAC_ADDRESS_LOW), high = mac_read(MAC_ADDRESS_HIGH);
  netif->hwaddr_len = 6;
  memcpy(netif->hwaddr, &low, 4);
  memcpy(netif->hwaddr + 4, &high, 2);
  return ERR_OK;
}

const char *network_start(void) {
  // The chip shows this word when it is there and awake.
  for (int turn = 0; BYTE_TEST != 0x87654321; turn++) {
    if (turn == 1000) return "there is no ethernet chip";
  }
  HW_CONFIG = 1;
  while (HW_CONFIG & 1) {
  }
  HW_CONFIG = 0x00150000;
  FIFO_LEVELS = 0;
  RX_CONFIG = 0;
  TX_CONFIG = 2;
  IRQ_CONFIG = 0x111;
  INT_STATUS = 0xffffffff;
  INT_ENABLE = INT_RX_STATUS_LEVEL;
  mac_write(MAC_CONTROL, MAC_RECEIVE | MAC_TRANSMIT | MAC_FULL_DUPLEX);
  lwip_init();
  if (!netif_add_noaddr(&interface, NULL, open_interface, ethernet_input)) {
    return "there is not enough memory for the network";
  }
  netif_set_default(&interface);
  netif_set_up(&interface);
  return dhcp_start(&interface) == ERR_OK ? NULL : "there is not enough memory for DHCP";
}

void network_poll(void) {
  static bool had_address;
  receive();
  sys_check_timeouts();
  bool has_address = !ip4_addr_isany_val(*netif_ip4_addr(&interface));
  if (has_address && !had_address) {
    char line[64], text[20];
    ip4addr_ntoa_r(netif_ip4_addr(&interface), text, sizeof text);
    snprintf(line, sizeof line, "network: address %s", text);
    platform_log(line);
  }
  had_address = has_address;
}

bool net_local_address(char *text, size_t size) {
  if (ip4_addr_isany_val(*netif_ip4_addr(&interface))) return false;
  return ip4addr_ntoa_r(netif_ip4_addr(&interface), text, (int)size) != NULL;
}

u32_t sys_now(void) {
  return (u32_t)(uint64_t)platform_now();
}

unsigned lwip_random(void) {
  unsigned number;
  platform_random((uint8_t *)&number, sizeof number);
  return number;
}

void lwip_failed(const char *what) {
  platform_log(what);
  board_reset();
}
