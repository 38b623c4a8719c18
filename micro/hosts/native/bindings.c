#include "bindings.h"

#include <mbedtls/sha256.h>
#include <monocypher-ed25519.h>
#include <stdlib.h>
#include <string.h>

#include "platform.h"
#include "tables.h"

#define FUNCTION(name) \
  static JSValue name(JSContext *ctx, JSValueConst self, int count, JSValueConst *args)

static JSValue outcome(JSContext *ctx, const char *problem) {
  return problem ? JS_ThrowPlainError(ctx, "%s", problem) : JS_UNDEFINED;
}

// The script's side is checked by TypeScript; a wrong type here throws all the same.
static int number_of(JSContext *ctx, JSValueConst value) {
  int32_t number = 0;
  JS_ToInt32(ctx, &number, value);
  return number;
}

static double double_of(JSContext *ctx, JSValueConst value) {
  double number = 0;
  JS_ToFloat64(ctx, &number, value);
  return number;
}

static const uint8_t *bytes_of(JSContext *ctx, JSValueConst value, size_t *length) {
  static const uint8_t none[1];
  *length = 0;
  const uint8_t *bytes = JS_GetUint8Array(ctx, length, value);
  // An empty array may have no memory at all; a wrong type has thrown.
  return bytes || JS_HasException(ctx) ? bytes : none;
}

FUNCTION(now) {
  return JS_NewFloat64(ctx, platform_now());
}

FUNCTION(wall_clock) {
  return JS_NewFloat64(ctx, platform_wall_clock());
}

FUNCTION(random_bytes) {
  uint8_t bytes[256];
  int length = number_of(ctx, args[0]);
  if (length < 0 || length > (int)sizeof bytes) {
    return JS_ThrowRangeError(ctx, "random() gives 0 to 256 bytes, not %d", length);
  }
  platform_random(bytes, length);
  return JS_NewUint8ArrayCopy(ctx, bytes, length);
}

FUNCTION(set_timer) {
  return JS_NewInt32(ctx, timer_set(double_of(ctx, args[0])));
}

FUNCTION(clear_timer) {
  timer_clear(number_of(ctx, args[0]));
  return JS_UNDEFINED;
}

FUNCTION(connect_to) {
  const char *host = JS_ToCString(ctx, args[0]);
  const char *name = host ? JS_ToCString(ctx, args[3]) : NULL;
  if (!name) {
    JS_FreeCString(ctx, host);
    return JS_EXCEPTION;
  }
  int id = net_connect(host, number_of(ctx, args[1]), JS_ToBool(ctx, args[2]) == 1, name);
  JS_FreeCString(ctx, name);
  JS_FreeCString(ctx, host);
  return JS_NewInt32(ctx, id);
}

FUNCTION(write_to) {
  size_t length;
  const uint8_t *bytes = bytes_of(ctx, args[1], &length);
  if (!bytes) return JS_EXCEPTION;
  return JS_NewBool(ctx, net_write(number_of(ctx, args[0]), bytes, length));
}

FUNCTION(end_connection) {
  net_end(number_of(ctx, args[0]));
  return JS_UNDEFINED;
}

FUNCTION(destroy_connection) {
  net_destroy(number_of(ctx, args[0]));
  return JS_UNDEFINED;
}

FUNCTION(listen_at) {
  bool tls = JS_IsString(args[1]);
  const char *certificate = tls ? JS_ToCString(ctx, args[1]) : NULL;
  const char *key = tls ? JS_ToCString(ctx, args[2]) : NULL;
  int id = 0, port = 0;
  const char *problem = tls && (!certificate || !key)
                            ? "there is not enough memory"
                            : net_listen(number_of(ctx, args[0]), certificate, key, &id, &port);
  JS_FreeCString(ctx, certificate);
  JS_FreeCString(ctx, key);
  if (problem) return outcome(ctx, problem);
  JSValue pair = JS_NewArray(ctx);
  JS_SetPropertyUint32(ctx, pair, 0, JS_NewInt32(ctx, id));
  JS_SetPropertyUint32(ctx, pair, 1, JS_NewInt32(ctx, port));
  return pair;
}

FUNCTION(close_listener) {
  net_close_listener(number_of(ctx, args[0]));
  return JS_UNDEFINED;
}

FUNCTION(local_address) {
  char text[64];
  return net_local_address(text, sizeof text) ? JS_NewString(ctx, text) : JS_UNDEFINED;
}

FUNCTION(read_flash) {
  const char *key = JS_ToCString(ctx, args[0]);
  if (!key) return JS_EXCEPTION;
  uint8_t *bytes;
  size_t length;
  const char *problem = flash_read(key, &bytes, &length);
  JS_FreeCString(ctx, key);
  if (problem) return outcome(ctx, problem);
  if (!bytes) return JS_UNDEFINED;
  JSValue result = JS_NewUint8ArrayCopy(ctx, bytes, length);
  free(bytes);
  return result;
}

FUNCTION(write_flash) {
  size_t length;
  const uint8_t *bytes = bytes_of(ctx, args[1], &length);
  const char *key = bytes ? JS_ToCString(ctx, args[0]) : NULL;
  if (!key) return JS_EXCEPTION;
  const char *problem = flash_write(key, bytes, length);
  JS_FreeCString(ctx, key);
  return outcome(ctx, problem);
}

FUNCTION(remove_flash) {
  const char *key = JS_ToCString(ctx, args[0]);
  if (!key) return JS_EXCEPTION;
  const char *problem = flash_remove(key);
  JS_FreeCString(ctx, key);
  return outcome(ctx, problem);
}

FUNCTION(sha256_of) {
  size_t length;
  const uint8_t *bytes = bytes_of(ctx, args[0], &length);
  if (!bytes) return JS_EXCEPTION;
  uint8_t digest[32];
  if (mbedtls_sha256(bytes, length, digest, 0)) return outcome(ctx, "SHA-256 failed");
  return JS_NewUint8ArrayCopy(ctx, digest, sizeof digest);
}

FUNCTION(verify_ed25519) {
  size_t keys, messages, signatures;
  const uint8_t *key = bytes_of(ctx, args[0], &keys);
  const uint8_t *message = key ? bytes_of(ctx, args[1], &messages) : NULL;
  const uint8_t *signature = message ? bytes_of(ctx, args[2], &signatures) : NULL;
  if (!signature) return JS_EXCEPTION;
  return JS_NewBool(ctx, keys == 32 && signatures == 64 &&
                             crypto_ed25519_check(signature, key, message, messages) == 0);
}

FUNCTION(memory_used) {
  return JS_NewFloat64(ctx, platform_memory_used());
}

FUNCTION(memory_limit) {
  return JS_NewFloat64(ctx, platform_memory_limit());
}

FUNCTION(watchdog) {
  platform_watchdog(double_of(ctx, args[0]));
  return JS_UNDEFINED;
}

FUNCTION(log_line) {
  const char *line = JS_ToCString(ctx, args[0]);
  if (!line) return JS_EXCEPTION;
  platform_log(line);
  JS_FreeCString(ctx, line);
  return JS_UNDEFINED;
}

FUNCTION(restart) {
  platform_restart();
  return JS_UNDEFINED;
}

FUNCTION(fw_confirmed) {
  return JS_NewBool(ctx, firmware_confirmed());
}

/** Of the image that is being written. */
static mbedtls_sha256_context image_hash;

FUNCTION(fw_begin) {
  // A chip may compute it in a unit that it has one of.
  mbedtls_sha256_free(&image_hash);
  mbedtls_sha256_init(&image_hash);
  mbedtls_sha256_starts(&image_hash, 0);
  return outcome(ctx, firmware_begin(double_of(ctx, args[0])));
}

FUNCTION(fw_write) {
  size_t length;
  const uint8_t *bytes = bytes_of(ctx, args[0], &length);
  if (!bytes) return JS_EXCEPTION;
  mbedtls_sha256_update(&image_hash, bytes, length);
  return outcome(ctx, firmware_write(bytes, length));
}

FUNCTION(fw_digest) {
  uint8_t digest[32];
  mbedtls_sha256_context hash;
  mbedtls_sha256_init(&hash);
  mbedtls_sha256_clone(&hash, &image_hash);
  mbedtls_sha256_finish(&hash, digest);
  mbedtls_sha256_free(&hash);
  return JS_NewUint8ArrayCopy(ctx, digest, sizeof digest);
}

FUNCTION(fw_finish) {
  return outcome(ctx, firmware_finish(JS_ToBool(ctx, args[0]) == 1));
}

FUNCTION(fw_confirm) {
  return outcome(ctx, firmware_confirm());
}

FUNCTION(fw_roll_back) {
  return outcome(ctx, firmware_roll_back());
}

FUNCTION(pin_mode) {
  const char *pin = JS_ToCString(ctx, args[0]);
  if (!pin) return JS_EXCEPTION;
  const char *problem = gpio_mode(pin, number_of(ctx, args[1]));
  JS_FreeCString(ctx, pin);
  return outcome(ctx, problem);
}

FUNCTION(pin_read) {
  const char *pin = JS_ToCString(ctx, args[0]);
  if (!pin) return JS_EXCEPTION;
  bool high = false;
  const char *problem = gpio_read(pin, &high);
  JS_FreeCString(ctx, pin);
  return problem ? outcome(ctx, problem) : JS_NewBool(ctx, high);
}

FUNCTION(pin_write) {
  const char *pin = JS_ToCString(ctx, args[0]);
  if (!pin) return JS_EXCEPTION;
  const char *problem = gpio_write(pin, JS_ToBool(ctx, args[1]) == 1);
  JS_FreeCString(ctx, pin);
  return outcome(ctx, problem);
}

FUNCTION(pin_watch) {
  const char *pin = JS_ToCString(ctx, args[0]);
  if (!pin) return JS_EXCEPTION;
  int id = 0;
  const char *problem = gpio_watch(pin, &id);
  JS_FreeCString(ctx, pin);
  return problem ? outcome(ctx, problem) : JS_NewInt32(ctx, id);
}

FUNCTION(pin_unwatch) {
  gpio_unwatch(number_of(ctx, args[0]));
  return JS_UNDEFINED;
}

FUNCTION(i2c) {
  size_t length;
  uint8_t read[256];
  int wanted = number_of(ctx, args[3]);
  if (wanted < 0 || wanted > (int)sizeof read) {
    return JS_ThrowRangeError(ctx, "a transfer reads 0 to 256 bytes, not %d", wanted);
  }
  const uint8_t *bytes = bytes_of(ctx, args[2], &length);
  const char *bus = bytes ? JS_ToCString(ctx, args[0]) : NULL;
  if (!bus) return JS_EXCEPTION;
  const char *problem = i2c_transfer(bus, number_of(ctx, args[1]), bytes, length, read, wanted);
  JS_FreeCString(ctx, bus);
  return problem ? outcome(ctx, problem) : JS_NewUint8ArrayCopy(ctx, read, wanted);
}

FUNCTION(analog) {
  const char *pin = JS_ToCString(ctx, args[0]);
  if (!pin) return JS_EXCEPTION;
  adc_value value;
  const char *problem = adc_read(pin, &value);
  JS_FreeCString(ctx, pin);
  if (problem) return outcome(ctx, problem);
  double parts[] = {value.steps, value.least, value.largest, value.step};
  JSValue list = JS_NewArray(ctx);
  for (uint32_t i = 0; i < 4; i++) JS_SetPropertyUint32(ctx, list, i, JS_NewFloat64(ctx, parts[i]));
  return list;
}

FUNCTION(pwm) {
  const char *pin = JS_ToCString(ctx, args[0]);
  if (!pin) return JS_EXCEPTION;
  const char *problem = pwm_set(pin, double_of(ctx, args[1]), double_of(ctx, args[2]));
  JS_FreeCString(ctx, pin);
  return outcome(ctx, problem);
}

static const struct {
  const char *name;
  JSCFunction *function;
  int arguments;
} FUNCTIONS[] = {
    {"now", now, 0},
    {"wallClock", wall_clock, 0},
    {"random", random_bytes, 1},
    {"setTimer", set_timer, 1},
    {"clearTimer", clear_timer, 1},
    {"connect", connect_to, 4},
    {"write", write_to, 2},
    {"end", end_connection, 1},
    {"destroy", destroy_connection, 1},
    {"listen", listen_at, 3},
    {"closeListener", close_listener, 1},
    {"localAddress", local_address, 0},
    {"flashRead", read_flash, 1},
    {"flashWrite", write_flash, 2},
    {"flashRemove", remove_flash, 1},
    {"sha256", sha256_of, 1},
    {"verifyEd25519", verify_ed25519, 3},
    {"memoryUsed", memory_used, 0},
    {"memoryLimit", memory_limit, 0},
    {"watchdog", watchdog, 1},
    {"log", log_line, 1},
    {"restart", restart, 0},
    {"firmwareConfirmed", fw_confirmed, 0},
    {"firmwareBegin", fw_begin, 1},
    {"firmwareWrite", fw_write, 1},
    {"firmwareDigest", fw_digest, 0},
    {"firmwareFinish", fw_finish, 1},
    {"firmwareConfirm", fw_confirm, 0},
    {"firmwareRollBack", fw_roll_back, 0},
    {"gpioMode", pin_mode, 2},
    {"gpioRead", pin_read, 1},
    {"gpioWrite", pin_write, 2},
    {"gpioWatch", pin_watch, 1},
    {"gpioUnwatch", pin_unwatch, 1},
    {"i2cTransfer", i2c, 4},
    {"adcRead", analog, 1},
    {"pwmSet", pwm, 3},
};

FUNCTION(table_of) {
  const char *name = JS_ToCString(ctx, args[0]);
  if (!name) return JS_EXCEPTION;
  const char *found = table_entry(name);
  JS_FreeCString(ctx, name);
  return found ? JS_NewString(ctx, found) : JS_UNDEFINED;
}

void bindings_global(JSContext *ctx, JSValueConst global) {
  JSValue function = JS_NewCFunction(ctx, table_of, "machineMicroTable", 1);
  JS_SetPropertyStr(ctx, global, "machineMicroTable", function);
}

JSValue bindings_object(JSContext *ctx) {
  JSValue object = JS_NewObject(ctx);
  for (size_t i = 0; i < sizeof FUNCTIONS / sizeof *FUNCTIONS; i++) {
    JSValue function =
        JS_NewCFunction(ctx, FUNCTIONS[i].function, FUNCTIONS[i].name, FUNCTIONS[i].arguments);
    JS_SetPropertyStr(ctx, object, FUNCTIONS[i].name, function);
  }
  JS_SetPropertyStr(ctx, object, "hasGpio", JS_NewBool(ctx, gpio_there()));
  JS_SetPropertyStr(ctx, object, "hasI2c", JS_NewBool(ctx, i2c_there()));
  JS_SetPropertyStr(ctx, object, "hasAdc", JS_NewBool(ctx, adc_there()));
  JS_SetPropertyStr(ctx, object, "hasPwm", JS_NewBool(ctx, pwm_there()));
  JS_SetPropertyStr(ctx, object, "largestValue", JS_NewInt32(ctx, FLASH_LARGEST));
  return object;
}
