// What micro/hosts/esp32 uses of ESP-IDF 5.4 (Apache-2.0), declared anew for a compiler that checks
// names, types and arguments. Each part is a header of the kit, below the folder that it is named with;
// fields and values that nobody here uses are left out.

// header: sdkconfig.h (made by the kit's configuration)
#pragma once
#define CONFIG_IDF_TARGET_ESP32S3 1
#define CONFIG_LWIP_SNTP_MAX_SERVERS 1

// header: esp_err.h (components/esp_common/include)
#pragma once
typedef int esp_err_t;
#define ESP_OK 0
#define ESP_FAIL -1
#define ESP_ERR_INVALID_ARG 0x102
const char *esp_err_to_name(esp_err_t code);

// header: esp_system.h (components/esp_system/include)
#pragma once
#include <esp_err.h>
void esp_restart(void) __attribute__((__noreturn__));

// header: esp_random.h (components/esp_hw_support/include)
#pragma once
#include <stddef.h>
void esp_fill_random(void *buf, size_t len);

// header: esp_heap_caps.h (components/heap/include)
#pragma once
#include <stddef.h>
#include <stdint.h>
#define MALLOC_CAP_8BIT (1 << 2)
size_t heap_caps_get_total_size(uint32_t caps);
size_t heap_caps_get_free_size(uint32_t caps);
size_t heap_caps_get_allocated_size(void *ptr);

// header: esp_timer.h (components/esp_timer/include)
#pragma once
#include <esp_err.h>
#include <stdbool.h>
#include <stdint.h>
typedef struct esp_timer *esp_timer_handle_t;
typedef void (*esp_timer_cb_t)(void *arg);
typedef enum { ESP_TIMER_TASK } esp_timer_dispatch_t;
typedef struct {
  esp_timer_cb_t callback;
  void *arg;
  esp_timer_dispatch_t dispatch_method;
  const char *name;
  bool skip_unhandled_events;
} esp_timer_create_args_t;
esp_err_t esp_timer_create(const esp_timer_create_args_t *args, esp_timer_handle_t *out);
esp_err_t esp_timer_start_once(esp_timer_handle_t timer, uint64_t timeout_us);
int64_t esp_timer_get_time(void);

// header: freertos/FreeRTOS.h (components/freertos/FreeRTOS-Kernel/include)
#pragma once
#include <sdkconfig.h>
#include <stdint.h>
typedef int BaseType_t;
typedef unsigned UBaseType_t;
typedef uint32_t TickType_t;
#define pdTRUE ((BaseType_t)1)
#define pdPASS pdTRUE
#define configTICK_RATE_HZ 1000
#define pdMS_TO_TICKS(ms) ((TickType_t)(((uint64_t)(ms) * configTICK_RATE_HZ) / 1000U))

// header: freertos/task.h (components/freertos/FreeRTOS-Kernel/include)
#pragma once
#include <freertos/FreeRTOS.h>
typedef struct tskTaskControlBlock *TaskHandle_t;
typedef void (*TaskFunction_t)(void *);
BaseType_t xTaskCreate(TaskFunction_t code, const char *const name, const uint32_t stack_bytes,
                       void *const parameters, UBaseType_t priority, TaskHandle_t *const created);
void vTaskDelay(const TickType_t ticks);

// header: freertos/queue.h (components/freertos/FreeRTOS-Kernel/include)
#pragma once
#include <freertos/FreeRTOS.h>
typedef struct QueueDefinition *QueueHandle_t;
QueueHandle_t xQueueCreate(const UBaseType_t length, const UBaseType_t item_size);
BaseType_t xQueueReceive(QueueHandle_t queue, void *const buffer, TickType_t ticks);
BaseType_t xQueueSendFromISR(QueueHandle_t queue, const void *const item, BaseType_t *const woken);

// header: esp_task_wdt.h (components/esp_system/include)
#pragma once
#include <esp_err.h>
#include <freertos/FreeRTOS.h>
#include <freertos/task.h>
#include <stdbool.h>
typedef struct {
  uint32_t timeout_ms;
  uint32_t idle_core_mask;
  bool trigger_panic;
} esp_task_wdt_config_t;
esp_err_t esp_task_wdt_init(const esp_task_wdt_config_t *config);
esp_err_t esp_task_wdt_add(TaskHandle_t task);
esp_err_t esp_task_wdt_reset(void);
esp_err_t esp_task_wdt_delete(TaskHandle_t task);

// header: esp_partition.h (components/esp_partition/include)
#pragma once
#include <esp_err.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
typedef struct esp_flash_t esp_flash_t;
typedef enum {
  ESP_PARTITION_TYPE_APP = 0,
  ESP_PARTITION_TYPE_DATA = 1,
} esp_partition_type_t;
typedef enum { ESP_PARTITION_SUBTYPE_ANY = 0xff } esp_partition_subtype_t;
typedef struct {
  esp_flash_t *flash_chip;
  esp_partition_type_t type;
  esp_partition_subtype_t subtype;
  uint32_t address;
  uint32_t size;
  uint32_t erase_size;
  char label[17];
  bool encrypted;
} esp_partition_t;
const esp_partition_t *esp_partition_find_first(esp_partition_type_t type,
                                                esp_partition_subtype_t subtype, const char *label);
esp_err_t esp_partition_read(const esp_partition_t *partition, size_t from, void *to, size_t size);
esp_err_t esp_partition_write(const esp_partition_t *partition, size_t to, const void *from, size_t size);
esp_err_t esp_partition_erase_range(const esp_partition_t *partition, size_t offset, size_t size);

// header: esp_flash_partitions.h (components/bootloader_support/include)
#pragma once
typedef enum {
  ESP_OTA_IMG_NEW = 0,
  ESP_OTA_IMG_PENDING_VERIFY = 1,
  ESP_OTA_IMG_VALID = 2,
  ESP_OTA_IMG_INVALID = 3,
  ESP_OTA_IMG_ABORTED = 4,
} esp_ota_img_states_t;

// header: esp_ota_ops.h (components/app_update/include)
#pragma once
#include <esp_err.h>
#include <esp_flash_partitions.h>
#include <esp_partition.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#define OTA_WITH_SEQUENTIAL_WRITES 0xfffffffe
typedef uint32_t esp_ota_handle_t;
esp_err_t esp_ota_begin(const esp_partition_t *partition, size_t image_size, esp_ota_handle_t *out);
esp_err_t esp_ota_write(esp_ota_handle_t handle, const void *data, size_t size);
esp_err_t esp_ota_end(esp_ota_handle_t handle);
esp_err_t esp_ota_abort(esp_ota_handle_t handle);
esp_err_t esp_ota_set_boot_partition(const esp_partition_t *partition);
const esp_partition_t *esp_ota_get_running_partition(void);
const esp_partition_t *esp_ota_get_next_update_partition(const esp_partition_t *start_from);
esp_err_t esp_ota_mark_app_valid_cancel_rollback(void);
esp_err_t esp_ota_mark_app_invalid_rollback_and_reboot(void);
esp_err_t esp_ota_get_state_partition(const esp_partition_t *partition, esp_ota_img_states_t *state);
bool esp_ota_check_rollback_is_possible(void);

// header: nvs_flash.h (components/nvs_flash/include)
#pragma once
#include <esp_err.h>
#define ESP_ERR_NVS_NO_FREE_PAGES 0x110d
#define ESP_ERR_NVS_NEW_VERSION_FOUND 0x1110
esp_err_t nvs_flash_init(void);
esp_err_t nvs_flash_erase(void);

// header: esp_event.h (components/esp_event/include)
#pragma once
#include <esp_err.h>
#include <stdint.h>
typedef const char *esp_event_base_t;
typedef void (*esp_event_handler_t)(void *arg, esp_event_base_t base, int32_t id, void *data);
#define ESP_EVENT_ANY_ID -1
esp_err_t esp_event_loop_create_default(void);
esp_err_t esp_event_handler_register(esp_event_base_t base, int32_t id, esp_event_handler_t handler,
                                     void *arg);

// header: esp_netif.h (components/esp_netif/include)
#pragma once
#include <esp_err.h>
#include <esp_event.h>
#include <stdint.h>
typedef struct esp_netif_obj esp_netif_t;
typedef struct {
  uint32_t addr;
} esp_ip4_addr_t;
typedef struct {
  esp_ip4_addr_t ip, netmask, gw;
} esp_netif_ip_info_t;
typedef enum { IP_EVENT_STA_GOT_IP } ip_event_t;
extern esp_event_base_t const IP_EVENT;
esp_err_t esp_netif_init(void);
esp_err_t esp_netif_get_ip_info(esp_netif_t *netif, esp_netif_ip_info_t *info);
char *esp_ip4addr_ntoa(const esp_ip4_addr_t *addr, char *buf, int buflen);

// header: esp_netif_sntp.h (components/esp_netif/include)
#pragma once
#include <esp_netif.h>
#include <freertos/FreeRTOS.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/time.h>
typedef void (*esp_sntp_time_cb_t)(struct timeval *time);
typedef struct esp_sntp_config {
  bool smooth_sync;
  bool server_from_dhcp;
  bool wait_for_sync;
  bool start;
  esp_sntp_time_cb_t sync_cb;
  bool renew_servers_after_new_IP;
  ip_event_t ip_event_to_renew;
  size_t index_of_first_server;
  size_t num_of_servers;
  const char *servers[CONFIG_LWIP_SNTP_MAX_SERVERS];
} esp_sntp_config_t;
#define ESP_NETIF_SNTP_DEFAULT_CONFIG(server) \
  { .wait_for_sync = true, .start = true, .num_of_servers = 1, .servers = {server} }
esp_err_t esp_netif_sntp_init(const esp_sntp_config_t *config);

// header: esp_wifi.h (components/esp_wifi/include, with esp_wifi_types_generic.h)
#pragma once
#include <esp_err.h>
#include <esp_event.h>
#include <esp_netif.h>
#include <stdint.h>
typedef enum { WIFI_MODE_NULL, WIFI_MODE_STA } wifi_mode_t;
typedef enum { WIFI_IF_STA } wifi_interface_t;
typedef enum { WIFI_STORAGE_FLASH, WIFI_STORAGE_RAM } wifi_storage_t;
typedef enum { WIFI_AUTH_OPEN, WIFI_AUTH_WEP, WIFI_AUTH_WPA_PSK, WIFI_AUTH_WPA2_PSK } wifi_auth_mode_t;
typedef enum {
  WIFI_EVENT_STA_START = 2,
  WIFI_EVENT_STA_DISCONNECTED = 5,
} wifi_event_t;
typedef struct {
  uint8_t ssid[32], ssid_len, bssid[6], reason;
  int8_t rssi;
} wifi_event_sta_disconnected_t;
typedef struct {
  int8_t rssi;
  wifi_auth_mode_t authmode;
} wifi_scan_threshold_t;
typedef struct {
  uint8_t ssid[32];
  uint8_t password[64];
  wifi_scan_threshold_t threshold;
} wifi_sta_config_t;
typedef union {
  wifi_sta_config_t sta;
} wifi_config_t;
typedef struct {
  int magic;
} wifi_init_config_t;
#define WIFI_INIT_CONFIG_DEFAULT() { .magic = 0x1F2F3F4F }
extern esp_event_base_t const WIFI_EVENT;
esp_err_t esp_wifi_init(const wifi_init_config_t *config);
esp_err_t esp_wifi_set_mode(wifi_mode_t mode);
esp_err_t esp_wifi_set_storage(wifi_storage_t storage);
esp_err_t esp_wifi_set_config(wifi_interface_t interface, wifi_config_t *config);
esp_err_t esp_wifi_start(void);
esp_err_t esp_wifi_connect(void);
esp_netif_t *esp_netif_create_default_wifi_sta(void);

// header: driver/gpio.h (components/esp_driver_gpio/include, with hal/gpio_types.h and soc_caps.h)
#pragma once
#include <esp_err.h>
#include <sdkconfig.h>
#include <stdbool.h>
#include <stdint.h>
#define GPIO_PIN_COUNT 49
#define GPIO_IS_VALID_GPIO(number) ((number >= 0) && (((1ULL << (number)) & 0x1FFFFFC3FFFFFULL) != 0))
#define GPIO_IS_VALID_OUTPUT_GPIO(number) GPIO_IS_VALID_GPIO(number)
typedef enum { GPIO_NUM_NC = -1, GPIO_NUM_0 = 0, GPIO_NUM_48 = 48 } gpio_num_t;
typedef enum { GPIO_MODE_DISABLE = 0, GPIO_MODE_INPUT = 1, GPIO_MODE_OUTPUT = 2, GPIO_MODE_INPUT_OUTPUT = 3 } gpio_mode_t;
typedef enum { GPIO_PULLUP_DISABLE, GPIO_PULLUP_ENABLE } gpio_pullup_t;
typedef enum { GPIO_PULLDOWN_DISABLE, GPIO_PULLDOWN_ENABLE } gpio_pulldown_t;
typedef enum { GPIO_INTR_DISABLE = 0, GPIO_INTR_ANYEDGE = 3 } gpio_int_type_t;
typedef void (*gpio_isr_t)(void *arg);
typedef struct {
  uint64_t pin_bit_mask;
  gpio_mode_t mode;
  gpio_pullup_t pull_up_en;
  gpio_pulldown_t pull_down_en;
  gpio_int_type_t intr_type;
} gpio_config_t;
esp_err_t gpio_config(const gpio_config_t *config);
esp_err_t gpio_reset_pin(gpio_num_t number);
esp_err_t gpio_set_intr_type(gpio_num_t number, gpio_int_type_t type);
esp_err_t gpio_intr_enable(gpio_num_t number);
esp_err_t gpio_intr_disable(gpio_num_t number);
esp_err_t gpio_set_level(gpio_num_t number, uint32_t level);
int gpio_get_level(gpio_num_t number);
esp_err_t gpio_install_isr_service(int flags);
esp_err_t gpio_isr_handler_add(gpio_num_t number, gpio_isr_t handler, void *args);
esp_err_t gpio_isr_handler_remove(gpio_num_t number);

// header: driver/i2c_master.h (components/esp_driver_i2c/include, with i2c_types.h)
#pragma once
#include <driver/gpio.h>
#include <esp_err.h>
#include <stddef.h>
typedef int i2c_port_num_t;
typedef enum { I2C_CLK_SRC_DEFAULT = 1 } i2c_clock_source_t;
typedef enum { I2C_ADDR_BIT_LEN_7 = 0 } i2c_addr_bit_len_t;
typedef struct i2c_master_bus_t *i2c_master_bus_handle_t;
typedef struct i2c_master_dev_t *i2c_master_dev_handle_t;
typedef struct {
  i2c_port_num_t i2c_port;
  gpio_num_t sda_io_num;
  gpio_num_t scl_io_num;
  i2c_clock_source_t clk_source;
  uint8_t glitch_ignore_cnt;
  int intr_priority;
  size_t trans_queue_depth;
  struct {
    uint32_t enable_internal_pullup : 1;
  } flags;
} i2c_master_bus_config_t;
typedef struct {
  i2c_addr_bit_len_t dev_addr_length;
  uint16_t device_address;
  uint32_t scl_speed_hz;
} i2c_device_config_t;
esp_err_t i2c_new_master_bus(const i2c_master_bus_config_t *config, i2c_master_bus_handle_t *bus);
esp_err_t i2c_master_bus_add_device(i2c_master_bus_handle_t bus, const i2c_device_config_t *config,
                                    i2c_master_dev_handle_t *device);
esp_err_t i2c_master_bus_rm_device(i2c_master_dev_handle_t device);
esp_err_t i2c_master_probe(i2c_master_bus_handle_t bus, uint16_t address, int timeout_ms);
esp_err_t i2c_master_transmit(i2c_master_dev_handle_t device, const uint8_t *bytes, size_t length,
                              int timeout_ms);
esp_err_t i2c_master_receive(i2c_master_dev_handle_t device, uint8_t *bytes, size_t length,
                             int timeout_ms);
esp_err_t i2c_master_transmit_receive(i2c_master_dev_handle_t device, const uint8_t *bytes,
                                      size_t length, uint8_t *read, size_t read_length,
                                      int timeout_ms);

// header: driver/ledc.h (components/esp_driver_ledc/include, with hal/ledc_types.h)
#pragma once
#include <esp_err.h>
#include <stdbool.h>
#include <stdint.h>
typedef enum { LEDC_LOW_SPEED_MODE } ledc_mode_t;
typedef enum { LEDC_TIMER_0, LEDC_TIMER_1, LEDC_TIMER_2, LEDC_TIMER_3, LEDC_TIMER_MAX } ledc_timer_t;
typedef enum { LEDC_CHANNEL_0, LEDC_CHANNEL_MAX = 8 } ledc_channel_t;
typedef enum { LEDC_TIMER_1_BIT = 1, LEDC_TIMER_14_BIT = 14 } ledc_timer_bit_t;
typedef enum { LEDC_AUTO_CLK, LEDC_USE_APB_CLK } ledc_clk_cfg_t;
typedef struct {
  int gpio_num;
  ledc_mode_t speed_mode;
  ledc_channel_t channel;
  ledc_timer_t timer_sel;
  uint32_t duty;
  int hpoint;
} ledc_channel_config_t;
typedef struct {
  ledc_mode_t speed_mode;
  ledc_timer_bit_t duty_resolution;
  ledc_timer_t timer_num;
  uint32_t freq_hz;
  ledc_clk_cfg_t clk_cfg;
  bool deconfigure;
} ledc_timer_config_t;
uint32_t ledc_find_suitable_duty_resolution(uint32_t source_hz, uint32_t frequency_hz);
esp_err_t ledc_timer_config(const ledc_timer_config_t *config);
esp_err_t ledc_channel_config(const ledc_channel_config_t *config);
esp_err_t ledc_set_duty(ledc_mode_t mode, ledc_channel_t channel, uint32_t duty);
esp_err_t ledc_update_duty(ledc_mode_t mode, ledc_channel_t channel);
esp_err_t ledc_stop(ledc_mode_t mode, ledc_channel_t channel, uint32_t level);

// header: esp_adc/adc_oneshot.h (components/esp_adc/include, with hal/adc_types.h)
#pragma once
#include <esp_err.h>
typedef enum { ADC_UNIT_1, ADC_UNIT_2 } adc_unit_t;
typedef enum { ADC_CHANNEL_0, ADC_CHANNEL_9 = 9 } adc_channel_t;
typedef enum { ADC_ATTEN_DB_0 = 0, ADC_ATTEN_DB_12 = 3 } adc_atten_t;
typedef enum { ADC_BITWIDTH_DEFAULT = 0, ADC_BITWIDTH_12 = 12 } adc_bitwidth_t;
typedef enum { ADC_ULP_MODE_DISABLE } adc_ulp_mode_t;
typedef struct adc_oneshot_unit_ctx_t *adc_oneshot_unit_handle_t;
typedef struct {
  adc_unit_t unit_id;
  adc_ulp_mode_t ulp_mode;
} adc_oneshot_unit_init_cfg_t;
typedef struct {
  adc_atten_t atten;
  adc_bitwidth_t bitwidth;
} adc_oneshot_chan_cfg_t;
esp_err_t adc_oneshot_new_unit(const adc_oneshot_unit_init_cfg_t *config,
                               adc_oneshot_unit_handle_t *unit);
esp_err_t adc_oneshot_config_channel(adc_oneshot_unit_handle_t unit, adc_channel_t channel,
                                     const adc_oneshot_chan_cfg_t *config);
esp_err_t adc_oneshot_read(adc_oneshot_unit_handle_t unit, adc_channel_t channel, int *raw);
esp_err_t adc_oneshot_io_to_channel(int pin, adc_unit_t *unit, adc_channel_t *channel);

// header: lwipopts.h (components/lwip/port/include; the rest of lwIP is lwIP's own)
#pragma once
#define NO_SYS 0
#define LWIP_SOCKET 1
#define LWIP_COMPAT_SOCKETS 1
#define LWIP_DNS 1
#define LWIP_IPV6 1
#define DNS_MAX_NAME_LENGTH 256
#define LWIP_TIMEVAL_PRIVATE 0
#define LWIP_ERRNO_STDINCLUDE 1

// header: arch/cc.h (components/lwip/port/esp32xx/include)
#pragma once
#include <sys/time.h>

// header: arch/sys_arch.h (components/lwip/port/freertos/include)
#pragma once
typedef void *sys_sem_t, *sys_mutex_t, *sys_mbox_t, *sys_thread_t;
typedef int sys_prot_t;
