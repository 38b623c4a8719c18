import http2 from "node:http2";
import { PassThrough } from "node:stream";

type Close = (this: object, callback?: () => void) => void;
type Destroy = (this: object, error?: unknown, code?: number) => void;
interface SessionMethods {
  close?: Close;
  destroy?: Destroy;
}

const fixed = Symbol.for("machine.http2-reentrancy");

/**
 * Works around a fault of Deno 2.9.6 that ends the whole process: when a GOAWAY arrives, its
 * node:http2 closes the session from inside the parser, which then continues with freed memory
 * (abort or segmentation fault, after some thousand calls on a connection). Here the two calls that
 * it makes there wait for the parser to be done. To be called before sessions are used; calls
 * after the first do nothing.
 *
 * Upstream: https://github.com/denoland/deno/issues/36788
 */
export function closeHttp2SessionsOutsideParser(): void {
  if (fixed in http2) return;
  Object.defineProperty(http2, fixed, { value: true });
  const methods = findSessionMethods();
  if (!methods) return;
  const { close, destroy } = methods;
  methods.close = function (callback) {
    // The parser's call has no callback. Others stay at once: who shuts down relies on it.
    if (callback) close.call(this, callback);
    else setImmediate(() => close.call(this));
  };
  methods.destroy = function (error, code) {
    if (isGoawayError(error)) setImmediate(() => destroy.call(this, error, code));
    else destroy.call(this, error, code);
  };
}

/** The prototype that client and server sessions share; undefined where Deno has another http2. */
function findSessionMethods(): Required<SessionMethods> | undefined {
  let probe: ReturnType<typeof http2.connect>;
  try {
    probe = http2.connect("http://localhost", { createConnection: () => new PassThrough() });
  } catch {
    // Older runtimes want a real socket here; they have another implementation without the fault.
    return undefined;
  }
  probe.on("error", () => undefined);
  let found: Required<SessionMethods> | undefined;
  for (
    let prototype: unknown = Object.getPrototypeOf(probe);
    prototype && prototype !== Object.prototype;
    prototype = Object.getPrototypeOf(prototype)
  ) {
    const methods = prototype as SessionMethods;
    if (Object.hasOwn(methods, "close") && Object.hasOwn(methods, "destroy")) {
      found = methods as Required<SessionMethods>;
    }
  }
  probe.destroy();
  return found;
}

function isGoawayError(error: unknown): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === "ERR_HTTP2_SESSION_ERROR";
}
