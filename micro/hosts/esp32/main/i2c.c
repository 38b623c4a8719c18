// Buses by their pins, "SDA,SCL"; "0" is the bus of the usual ones.
#include <driver/i2c_master.h>
#include <stdio.h>
#include <string.h>

#include "../../native/platform.h"
#include "host.h"

#if CONFIG_IDF_TARGET_ESP32
#define USUAL_PINS "21,22"
#else
#define USUAL_PINS "8,9"
#endif
#define SPEED_HZ 100000
#define TIMEOUT_MS 100
#define MOST_BUSES 2
#define MOST_DEVICES 8

typedef struct {
  int sda, scl;
  i2c_master_bus_handle_t handle;
} bus_t;

typedef struct {
  bus_t *bus;
  int address;
  i2c_master_dev_handle_t handle;
} device_t;

static bus_t buses[MOST_BUSES];
static device_t devices[MOST_DEVICES];
static int next_device;
static char problem[120];

static const char *failed(const char *what, const char *name, esp_err_t why) {
  snprintf(problem, sizeof problem, "%s %.20s: %s", what, name, esp_err_to_name(why));
  return problem;
}

bool i2c_there(void) {
  return true;
}

static bus_t *find_bus(const char *name, const char **wrong) {
  char sda[8], scl[8], end;
  const char *pins = strcmp(name, "0") == 0 ? USUAL_PINS : name;
  int read = sscanf(pins, "%7[0-9],%7[0-9]%c", sda, scl, &end);
  int data = read == 2 ? pin_number(sda) : -1, clock = read == 2 ? pin_number(scl) : -1;
  *wrong = "an I2C bus is named by its pins, as \"8,9\" for SDA 8 and SCL 9, or \"0\" for the usual ones";
  if (data < 0 || clock < 0) return NULL;
  bus_t *free = NULL;
  for (int i = 0; i < MOST_BUSES; i++) {
    if (!buses[i].handle) free = free ? free : &buses[i];
    else if (buses[i].sda == data && buses[i].scl == clock) return &buses[i];
  }
  *wrong = "the chip has two I2C buses, and both are in use";
  if (!free) return NULL;
  i2c_master_bus_config_t config = {
      .i2c_port = -1,
      .sda_io_num = (gpio_num_t)data,
      .scl_io_num = (gpio_num_t)clock,
      .clk_source = I2C_CLK_SRC_DEFAULT,
      .glitch_ignore_cnt = 7,
      .flags.enable_internal_pullup = true,
  };
  esp_err_t result = i2c_new_master_bus(&config, &free->handle);
  free->sda = data;
  free->scl = clock;
  if (result == ESP_OK) return free;
  free->handle = NULL;
  *wrong = failed("cannot use I2C bus", name, result);
  return NULL;
}

static i2c_master_dev_handle_t find_device(bus_t *bus, int address, esp_err_t *result) {
  for (int i = 0; i < MOST_DEVICES; i++) {
    if (devices[i].handle && devices[i].bus == bus && devices[i].address == address) {
      return devices[i].handle;
    }
  }
  // In turn, where there are more devices than places.
  device_t *of = &devices[next_device];
  next_device = (next_device + 1) % MOST_DEVICES;
  if (of->handle) i2c_master_bus_rm_device(of->handle);
  i2c_device_config_t config = {
      .dev_addr_length = I2C_ADDR_BIT_LEN_7,
      .device_address = (uint16_t)address,
      .scl_speed_hz = SPEED_HZ,
  };
  of->handle = NULL;
  *result = i2c_master_bus_add_device(bus->handle, &config, &of->handle);
  of->bus = bus;
  of->address = address;
  return of->handle;
}

const char *i2c_transfer(const char *name, int address, const uint8_t *bytes, size_t length,
                         uint8_t *read, size_t read_length) {
  const char *wrong;
  bus_t *bus = find_bus(name, &wrong);
  if (!bus) return wrong;
  esp_err_t result = ESP_OK;
  if (length == 0 && read_length == 0) {
    result = i2c_master_probe(bus->handle, (uint16_t)address, TIMEOUT_MS);
  } else {
    i2c_master_dev_handle_t device = find_device(bus, address, &result);
    if (!device) return failed("cannot use I2C bus", name, result);
    if (read_length == 0) result = i2c_master_transmit(device, bytes, length, TIMEOUT_MS);
    else if (length == 0) result = i2c_master_receive(device, read, read_length, TIMEOUT_MS);
    else result = i2c_master_transmit_receive(device, bytes, length, read, read_length, TIMEOUT_MS);
  }
  return result == ESP_OK ? NULL : failed("nobody answers on I2C bus", name, result);
}
