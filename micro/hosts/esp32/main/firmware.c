// The two images are ESP-IDF's, and its bootloader goes back from one that was not confirmed.
#include <esp_ota_ops.h>
#include <esp_system.h>
#include <stdio.h>

#include "../../native/platform.h"
#include "host.h"

static esp_ota_handle_t handle;
static bool writing, going_back;
static size_t length, done;
static char problem[120];

static const char *failed(const char *what, esp_err_t why) {
  if (why == ESP_OK) return NULL;
  snprintf(problem, sizeof problem, "cannot %s the image: %s", what, esp_err_to_name(why));
  return problem;
}

static bool state_of_running(esp_ota_img_states_t *state) {
  return esp_ota_get_state_partition(esp_ota_get_running_partition(), state) == ESP_OK;
}

void firmware_start(void) {
  esp_ota_img_states_t state;
  if (state_of_running(&state)) return;
  // An image that a host wrote is in no list yet, and nobody would go back to it.
  if (esp_ota_set_boot_partition(esp_ota_get_running_partition()) == ESP_OK) {
    esp_ota_mark_app_valid_cancel_rollback();
  }
}

bool firmware_confirmed(void) {
  esp_ota_img_states_t state;
  return !state_of_running(&state) || state != ESP_OTA_IMG_PENDING_VERIFY;
}

static void drop(void) {
  if (writing) esp_ota_abort(handle);
  writing = false;
}

const char *firmware_begin(double size) {
  drop();
  const esp_partition_t *other = esp_ota_get_next_update_partition(NULL);
  if (!other) return "flash has no second slot";
  if (size <= 0 || size > other->size) return "an image may have 3 MB";
  length = (size_t)size;
  done = 0;
  // Erased as it is written, or the device would stand still for seconds.
  esp_err_t result = esp_ota_begin(other, OTA_WITH_SEQUENTIAL_WRITES, &handle);
  writing = result == ESP_OK;
  return failed("begin", result);
}

const char *firmware_write(const uint8_t *bytes, size_t count) {
  if (!writing) return "no image is being written";
  if (count > length - done) return "the image is larger than was said";
  done += count;
  return failed("write", esp_ota_write(handle, bytes, count));
}

const char *firmware_finish(bool activate) {
  // A download may fail before it has brought anything.
  if (!writing) return activate ? "no image is being written" : NULL;
  if (!activate || done != length) {
    drop();
    return activate ? "the image is not whole" : NULL;
  }
  writing = false;
  esp_err_t result = esp_ota_end(handle);
  if (result == ESP_OK) result = esp_ota_set_boot_partition(esp_ota_get_next_update_partition(NULL));
  return failed("use", result);
}

const char *firmware_confirm(void) {
  if (firmware_confirmed()) return NULL;
  return failed("confirm", esp_ota_mark_app_valid_cancel_rollback());
}

const char *firmware_roll_back(void) {
  if (firmware_confirmed()) {
    const char *wrong = failed("go back to", esp_ota_set_boot_partition(
                                                 esp_ota_get_next_update_partition(NULL)));
    return wrong ? "there is no other image" : NULL;
  }
  if (!esp_ota_check_rollback_is_possible()) return "there is no other image";
  // With the restart; a power cut before it does the same, as nobody confirmed this image.
  going_back = true;
  return NULL;
}

void firmware_restart(void) {
  if (going_back) esp_ota_mark_app_invalid_rollback_and_reboot();
  esp_restart();
}
