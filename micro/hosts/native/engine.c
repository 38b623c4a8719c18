#include "engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings.h"

#ifdef ESP_PLATFORM
// Its malloc_usable_size() always gives 0.
#include <esp_heap_caps.h>
#define malloc_usable_size heap_caps_get_allocated_size
#else
#include <malloc.h>
#endif

static JSRuntime *runtime;
static JSContext *context;
static JSValue dispatch;
static size_t used, limit;

// The engine keeps its own count, which it shows only after a walk through the whole heap.
static void *counted(void *block) {
  if (block) used += malloc_usable_size(block);
  return block;
}

static void *count_calloc(void *opaque, size_t count, size_t size) {
  return counted(calloc(count, size));
}

static void *count_malloc(void *opaque, size_t size) {
  return counted(malloc(size));
}

static void count_free(void *opaque, void *block) {
  if (!block) return;
  used -= malloc_usable_size(block);
  free(block);
}

static void *count_realloc(void *opaque, void *block, size_t size) {
  size_t before = block ? malloc_usable_size(block) : 0;
  void *after = realloc(block, size);
  if (after || size == 0) used -= before;
  return counted(after);
}

static size_t usable_size(const void *block) {
  return malloc_usable_size((void *)block);
}

static const JSMallocFunctions COUNTED = {count_calloc, count_malloc, count_free, count_realloc,
                                          usable_size};

size_t engine_heap_used(void) {
  return used;
}

size_t engine_heap_limit(void) {
  return limit;
}

static void log_thrown(const char *where) {
  JSValue thrown = JS_GetException(context);
  JSValue stack = JS_IsObject(thrown) ? JS_GetPropertyStr(context, thrown, "stack") : JS_UNDEFINED;
  // It throws null where there is no memory for an error either.
  const char *message = JS_IsNull(thrown) ? NULL : JS_ToCString(context, thrown);
  const char *trace = JS_IsString(stack) ? JS_ToCString(context, stack) : NULL;
  char line[1024];
  snprintf(line, sizeof line, "%s: %s\n%s", where, message ? message : "out of memory",
           trace ? trace : "");
  size_t end = strlen(line);
  while (end > 0 && line[end - 1] == '\n') line[--end] = '\0';
  platform_log(line);
  JS_FreeCString(context, message);
  JS_FreeCString(context, trace);
  JS_FreeValue(context, stack);
  JS_FreeValue(context, thrown);
  JS_FreeValue(context, JS_GetException(context));
}

// Promises that failed with nobody looking, until the jobs are done: a look may come with one of them.
#define UNSEEN 8
static struct {
  JSValue promise, reason;
} unseen[UNSEEN];
static int unseen_count;

static void rejected(JSContext *of, JSValueConst promise, JSValueConst reason, bool handled,
                     void *opaque) {
  int at = 0;
  while (at < unseen_count && JS_VALUE_GET_PTR(unseen[at].promise) != JS_VALUE_GET_PTR(promise)) at++;
  if (handled && at < unseen_count) {
    JS_FreeValue(of, unseen[at].promise);
    JS_FreeValue(of, unseen[at].reason);
    unseen[at] = unseen[--unseen_count];
  } else if (!handled && unseen_count < UNSEEN) {
    unseen[unseen_count].promise = JS_DupValue(of, promise);
    unseen[unseen_count++].reason = JS_DupValue(of, reason);
  }
}

#ifdef ENGINE_GARBAGE
// Cycles of objects are looked for when the heap is by so many bytes above its least since the last look,
// not by half as the engine does. A look in the middle of much work finds all of it in use.
static void collect_above(size_t bytes) {
  static size_t after;
  if (used < after) after = used;
  if (used < after + bytes) return;
  JS_RunGC(runtime);
  after = used;
}
#endif

void engine_collect(void) {
#ifdef ENGINE_GARBAGE
  collect_above(ENGINE_GARBAGE / 8);
#endif
}

static void run_jobs(void) {
  JSContext *of;
  int ran;
  while ((ran = JS_ExecutePendingJob(runtime, &of)) != 0) {
    if (ran < 0) log_thrown("a callback failed");
  }
  while (unseen_count > 0) {
    unseen_count--;
    JS_FreeValue(context, unseen[unseen_count].promise);
    JS_Throw(context, unseen[unseen_count].reason);
    log_thrown("a promise failed and nobody looks");
  }
#ifdef ENGINE_GARBAGE
  collect_above(ENGINE_GARBAGE);
#endif
}

// Takes over the arguments.
static void call(enum event_kind kind, int id, JSValue first, JSValue second) {
  JSValue values[] = {JS_NewInt32(context, kind), JS_NewInt32(context, id), first, second};
  if (JS_IsException(first) || JS_IsException(second)) {
    log_thrown("an event is lost");
  } else {
    JSValue result = JS_Call(context, dispatch, JS_UNDEFINED, 4, values);
    if (JS_IsException(result)) log_thrown("a callback failed");
    JS_FreeValue(context, result);
  }
  JS_FreeValue(context, first);
  JS_FreeValue(context, second);
  run_jobs();
}

void engine_event(enum event_kind kind, int id) {
  call(kind, id, JS_UNDEFINED, JS_UNDEFINED);
}

void engine_event_number(enum event_kind kind, int id, double number, double other) {
  call(kind, id, JS_NewFloat64(context, number), JS_NewFloat64(context, other));
}

void engine_event_text(enum event_kind kind, int id, const char *text, int other) {
  call(kind, id, JS_NewString(context, text), JS_NewInt32(context, other));
}

void engine_event_bytes(enum event_kind kind, int id, const uint8_t *bytes, size_t length) {
  call(kind, id, JS_NewUint8ArrayCopy(context, bytes, length), JS_UNDEFINED);
}

// All of the language but eval, which would bring the compiler along.
static bool add_language(JSContext *to) {
  return !JS_AddIntrinsicBaseObjects(to) && !JS_AddIntrinsicDate(to) &&
         !JS_AddIntrinsicRegExp(to) && !JS_AddIntrinsicJSON(to) && !JS_AddIntrinsicProxy(to) &&
         !JS_AddIntrinsicMapSet(to) && !JS_AddIntrinsicTypedArrays(to) &&
         !JS_AddIntrinsicPromise(to) && !JS_AddIntrinsicWeakRef(to);
}

bool engine_start(const uint8_t *bytecode, size_t length, size_t heap_limit, const char *options) {
  limit = heap_limit;
  runtime = JS_NewRuntime2(&COUNTED, NULL);
  context = runtime ? JS_NewContextRaw(runtime) : NULL;
  // Into an empty context: the bytecode has the numbers of its atoms.
  JSValue script = context ? JS_ReadObject(context, bytecode, length, JS_READ_OBJ_BYTECODE) : JS_NULL;
  if (!context || !add_language(context)) {
    platform_log("There is not enough memory for the engine.");
    return false;
  }
  JS_SetMemoryLimit(runtime, heap_limit);
#ifdef ENGINE_STACK
  JS_SetMaxStackSize(runtime, ENGINE_STACK);
#endif
  JS_SetHostPromiseRejectionTracker(runtime, rejected, NULL);
  JSValue global = JS_GetGlobalObject(context);
  bindings_global(context, global);
  JSValue result = JS_IsException(script) ? script : JS_EvalFunction(context, script);
  if (JS_IsException(result)) {
    log_thrown("the program cannot start");
    return false;
  }
  JS_FreeValue(context, result);
  JSValue start = JS_GetPropertyStr(context, global, "machineMicro");
  JSValue arguments[] = {bindings_object(context), JS_NewString(context, options)};
  dispatch = JS_Call(context, start, JS_UNDEFINED, 2, arguments);
  JS_FreeValue(context, start);
  JS_FreeValue(context, global);
  JS_FreeValue(context, arguments[0]);
  JS_FreeValue(context, arguments[1]);
  if (JS_IsException(dispatch)) {
    log_thrown("the program cannot start");
    return false;
  }
  run_jobs();
  return JS_IsFunction(context, dispatch);
}
