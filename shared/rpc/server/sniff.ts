import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { PatientTimer } from "../patient_timer.ts";
import { startsWithProxyHeader } from "./proxy_protocol.ts";

/** What the first bytes of a connection say. */
export type FirstBytes =
  | { readonly kind: "incomplete" }
  | { readonly kind: "invalid"; readonly reason: string }
  | { readonly kind: "known"; readonly http2: boolean; readonly length: 0 };

const HTTP2_PREFACE = "PRI";

/**
 * Distinguishes HTTP/2 (its preface starts with `PRI`) from everything else. A PROXY header is an
 * error: its sender may not speak for others.
 */
export function readProtocol(bytes: Buffer): FirstBytes {
  const isProxied = startsWithProxyHeader(bytes);
  if (isProxied) {
    return { kind: "invalid", reason: "it sends a PROXY header and is no trusted balancer" };
  }
  const start = bytes.subarray(0, HTTP2_PREFACE.length).toString("latin1");
  const isPart = start.length < HTTP2_PREFACE.length && HTTP2_PREFACE.startsWith(start);
  if (isProxied === undefined || isPart) return { kind: "incomplete" };
  return { kind: "known", http2: start === HTTP2_PREFACE, length: 0 };
}

type Start = { readonly kind: string; readonly length?: number };

/**
 * Reads just enough of a connection to know what it starts with, and puts back what follows that:
 * bytes behind the `length` that was read. It is closed when that takes too long.
 */
export function readStart<T extends Start>(
  socket: Socket,
  withinMs: number,
  read: (bytes: Buffer) => T | { readonly kind: "incomplete" },
  done: (first: Exclude<T, { readonly kind: "incomplete" }>) => void,
): void {
  const timer = new PatientTimer(withinMs, () => socket.destroy());
  let seen: Buffer = Buffer.alloc(0);
  const stop = () => {
    timer.cancel();
    socket.off("readable", look);
    socket.off("close", stop);
  };
  const look = () => {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) return;
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    const first = read(seen);
    if (first.kind === "incomplete") return;
    stop();
    const rest = seen.subarray((first as Start).length ?? 0);
    if (rest.length > 0) socket.unshift(rest);
    done(first as Exclude<T, { readonly kind: "incomplete" }>);
  };
  socket.on("readable", look);
  socket.once("close", stop);
}
