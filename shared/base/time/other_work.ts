import { setImmediate } from "node:timers";

/**
 * Resolves when everything that waited has had its turn: calls, timers, sockets. For long work in
 * pieces; takes no time when nothing waits, and no clock has a part in it.
 */
export function letOthersWork(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
