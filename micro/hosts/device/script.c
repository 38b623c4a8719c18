#include <stdio.h>

#include "../native/engine.h"
#include "bytecode.h"
#include "device.h"

#define PORT 8080

bool script_start(size_t heap) {
  char options[200];
  snprintf(options, sizeof options, "{\"port\":%d,\"tls\":%s,\"debug\":false,\"version\":\"%s\"}",
           PORT, store_has("no-tls") ? "false" : "true", MICRO_VERSION);
  return engine_start(BYTECODE, BYTECODE_LENGTH, heap, options);
}
