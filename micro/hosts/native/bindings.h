// The functions of the host that the script calls; native.ts has their types.
#ifndef MICRO_BINDINGS_H
#define MICRO_BINDINGS_H

#include <quickjs.h>

/** A new object with all of them. */
JSValue bindings_object(JSContext *context);

/** Those that the script needs before it gets that object, as functions of the global one. */
void bindings_global(JSContext *context, JSValueConst global);

#endif
