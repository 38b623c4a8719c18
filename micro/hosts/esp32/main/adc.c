// Analog inputs, one conversion at a time.
#include <esp_adc/adc_oneshot.h>
#include <stdio.h>

#include "../../native/platform.h"
#include "host.h"

/** With 12 dB of attenuation, of 12 bits; each chip differs from it by some percent. */
#define FULL_SCALE_VOLTS 3.1
#define STEPS 4095

static adc_oneshot_unit_handle_t converter;
static char problem[120];

bool adc_there(void) {
  return true;
}

static const char *failed(const char *pin, esp_err_t why) {
  snprintf(problem, sizeof problem, "cannot read the voltage at pin %.20s: %s", pin,
           esp_err_to_name(why));
  return problem;
}

const char *adc_read(const char *pin, adc_value *value) {
  adc_unit_t unit;
  adc_channel_t channel;
  int number = pin_number(pin);
  if (number < 0) return NO_PIN;
  if (adc_oneshot_io_to_channel(number, &unit, &channel) != ESP_OK) {
    return "the pin is no analog input of this chip";
  }
  // The radio has the second one.
  if (unit != ADC_UNIT_1) return "the pin belongs to the second converter, which WiFi uses; take another";
  esp_err_t result = ESP_OK;
  if (!converter) {
    adc_oneshot_unit_init_cfg_t config = {.unit_id = unit};
    result = adc_oneshot_new_unit(&config, &converter);
  }
  if (result != ESP_OK) return failed(pin, result);
  adc_oneshot_chan_cfg_t config = {.atten = ADC_ATTEN_DB_12, .bitwidth = ADC_BITWIDTH_12};
  int steps = 0;
  result = adc_oneshot_config_channel(converter, channel, &config);
  if (result == ESP_OK) result = adc_oneshot_read(converter, channel, &steps);
  if (result != ESP_OK) return failed(pin, result);
  *value = (adc_value){steps, 0, FULL_SCALE_VOLTS, FULL_SCALE_VOLTS / STEPS};
  return NULL;
}
