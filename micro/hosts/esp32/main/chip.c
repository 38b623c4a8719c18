#include "../../device/chip.h"

#include <esp_partition.h>

#include "layout.h"

static const esp_partition_t *part;

const char *chip_open(void) {
  part = esp_partition_find_first(ESP_PARTITION_TYPE_DATA, ESP_PARTITION_SUBTYPE_ANY, "machine");
  if (!part) return "flash has no partition `machine`: write the partition table of this program";
  return part->size >= CHIP_STORE + 2 * CHIP_STORE_BANK ? NULL : "the partition `machine` is too small";
}

bool chip_read(uint32_t at, void *bytes, size_t length) {
  return esp_partition_read(part, at, bytes, length) == ESP_OK;
}

bool chip_program(uint32_t at, const void *bytes, size_t length) {
  return esp_partition_write(part, at, bytes, length) == ESP_OK;
}

bool chip_erase(uint32_t at, size_t length) {
  return esp_partition_erase_range(part, at, length) == ESP_OK;
}
