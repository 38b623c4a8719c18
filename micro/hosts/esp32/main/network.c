// WiFi with the name and password that flash has, and the time.
#include <esp_event.h>
#include <esp_netif.h>
#include <esp_netif_sntp.h>
#include <esp_timer.h>
#include <esp_wifi.h>
#include <nvs_flash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../native/platform.h"
#include "host.h"

#define TIME_SERVER "pool.ntp.org"
/** What lies between two attempts to join. */
#define JOIN_AGAIN_US 2000000

static esp_netif_t *interface;
static esp_timer_handle_t again;

static void join(void *context) {
  // One that fails at once is not told of.
  if (esp_wifi_connect() != ESP_OK) esp_timer_start_once(again, JOIN_AGAIN_US);
}

static void on_wifi(void *context, esp_event_base_t base, int32_t event, void *details) {
  if (event == WIFI_EVENT_STA_START) join(NULL);
  if (event != WIFI_EVENT_STA_DISCONNECTED) return;
  char line[80];
  const wifi_event_sta_disconnected_t *why = details;
  snprintf(line, sizeof line, "network: WiFi is away (reason %d), tries again", why->reason);
  platform_log(line);
  // One that runs already ends with the same.
  esp_timer_start_once(again, JOIN_AGAIN_US);
}

static void on_address(void *context, esp_event_base_t base, int32_t event, void *details) {
  char line[64], text[20];
  if (!net_local_address(text, sizeof text)) return;
  snprintf(line, sizeof line, "network: address %s", text);
  platform_log(line);
}

// A text of flash into a field of the radio's settings. NULL, or what is wrong.
static const char *setting(const char *key, uint8_t *field, size_t size) {
  static char problem[120];
  uint8_t *text;
  size_t length;
  const char *wrong = flash_read(key, &text, &length);
  if (wrong || !text) return wrong;
  if (length > size) {
    snprintf(problem, sizeof problem, "%s has more than %u bytes", key, (unsigned)size);
    wrong = problem;
  } else {
    memcpy(field, text, length);
  }
  free(text);
  return wrong;
}

static const char *failed(const char *what, esp_err_t why) {
  static char problem[120];
  snprintf(problem, sizeof problem, "cannot %s: %s", what, esp_err_to_name(why));
  return problem;
}

static esp_err_t open_radio_memory(void) {
  esp_err_t result = nvs_flash_init();
  if (result != ESP_ERR_NVS_NO_FREE_PAGES && result != ESP_ERR_NVS_NEW_VERSION_FOUND) return result;
  result = nvs_flash_erase();
  return result == ESP_OK ? nvs_flash_init() : result;
}

static esp_err_t start_radio(wifi_config_t *config) {
  wifi_init_config_t defaults = WIFI_INIT_CONFIG_DEFAULT();
  esp_timer_create_args_t timer = {.callback = join, .name = "join"};
  esp_err_t result = esp_wifi_init(&defaults);
  if (result == ESP_OK) result = esp_timer_create(&timer, &again);
  if (result == ESP_OK) result = esp_event_handler_register(WIFI_EVENT, ESP_EVENT_ANY_ID, on_wifi, NULL);
  if (result == ESP_OK) {
    result = esp_event_handler_register(IP_EVENT, IP_EVENT_STA_GOT_IP, on_address, NULL);
  }
  if (result == ESP_OK) result = esp_wifi_set_storage(WIFI_STORAGE_RAM);
  if (result == ESP_OK) result = esp_wifi_set_mode(WIFI_MODE_STA);
  if (result == ESP_OK) result = esp_wifi_set_config(WIFI_IF_STA, config);
  return result == ESP_OK ? esp_wifi_start() : result;
}

const char *network_start(void) {
  wifi_config_t config = {0};
  const char *wrong = setting("wifi-ssid", config.sta.ssid, sizeof config.sta.ssid);
  if (!wrong) wrong = setting("wifi-password", config.sta.password, sizeof config.sta.password);
  if (wrong) return wrong;
  // A network with a password has to ask for it.
  if (config.sta.password[0]) config.sta.threshold.authmode = WIFI_AUTH_WPA2_PSK;
  esp_err_t result = open_radio_memory();
  if (result != ESP_OK) return failed("open the partition nvs", result);
  result = esp_netif_init();
  if (result == ESP_OK) result = esp_event_loop_create_default();
  if (result != ESP_OK) return failed("start the network", result);
  interface = esp_netif_create_default_wifi_sta();
  // Without a network the machine runs all the same.
  if (!config.sta.ssid[0]) {
    platform_log("network: flash has no wifi-ssid, so there is none");
    return NULL;
  }
  result = start_radio(&config);
  if (result != ESP_OK) return failed("start WiFi", result);
  esp_sntp_config_t time = ESP_NETIF_SNTP_DEFAULT_CONFIG(TIME_SERVER);
  time.wait_for_sync = false;
  result = esp_netif_sntp_init(&time);
  return result == ESP_OK ? NULL : failed("ask for the time", result);
}

bool net_local_address(char *text, size_t size) {
  esp_netif_ip_info_t info;
  if (!interface || esp_netif_get_ip_info(interface, &info) != ESP_OK || !info.ip.addr) return false;
  return esp_ip4addr_ntoa(&info.ip, text, (int)size) != NULL;
}
