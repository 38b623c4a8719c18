import type { Caller } from "./line.ts";

type AnyFunction = (...parameters: never[]) => unknown;

const FRAME =
  /^\s+at (?:async )?(?:(.*?) \()?((?:file:\/\/|[a-z]+:|\/|[A-Z]:\\).*?):(\d+):\d+\)?$/m;

/**
 * Where `called` was called from. Takes some microseconds (the runtime maps the position back to
 * the TypeScript source), so ask only for lines that are written.
 */
export function callerOf(called: AnyFunction): Caller | undefined {
  const holder: { stack?: string } = {};
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 1;
  Error.captureStackTrace(holder, called);
  const stack = holder.stack;
  Error.stackTraceLimit = limit;
  return stack === undefined ? undefined : parseFrame(stack);
}

/** Reads the first frame of a V8 stack trace. */
export function parseFrame(stack: string): Caller | undefined {
  const match = FRAME.exec(stack);
  if (!match) return undefined;
  const [, functionName = "", file = "", line] = match;
  return { file: lastTwoParts(file), line: Number(line), functionName };
}

function lastTwoParts(path: string): string {
  return path.replace(/[?#].*$/, "").split(/[/\\]/).slice(-2).join("/");
}
