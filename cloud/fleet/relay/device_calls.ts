/** Calls to devices that take them from the stream they hold open; knows no transport. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { CancelSignal } from "../../../shared/rpc/client/call_channel.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** Largest request, as machine-micro-server takes it. Bytes. */
export const MOST_REQUEST_BYTES = 32 * 1024;
/** Largest answer. Bytes. */
export const MOST_ANSWER_BYTES = 64 * 1024;
/** Calls that a device has at a time; the others wait, and callers take turns. */
export const MOST_AT_ONCE = 16;
/** Calls of all callers that wait for one device. */
const MOST_WAITING = 512;
/** Their requests. Bytes. */
const MOST_WAITING_BYTES = 1024 * 1024;
/** Calls of one caller that wait for one device. */
export const MOST_OF_CALLER = 256;
const MOST_TEXT = 1_000;
const LARGEST_ID = 0xffff_ffff;

/** What is sent to the device. */
export interface DeviceCall {
  /** `/package.Service/Method` */
  readonly method: string;
  readonly request: Uint8Array;
  /** Who calls, as it is reported to the device. */
  readonly caller: string;
  readonly isOwner: boolean;
  /** The session of the device that it belongs to; empty: none. */
  readonly sessionId: string;
}

/** The same as it stands in the stream. */
export interface NumberedCall extends DeviceCall {
  readonly id: number;
}

/** What a device answers; not checked. */
export interface DeviceAnswer {
  readonly id: number;
  readonly response: Uint8Array;
  readonly code: number;
  readonly message: string;
}

/** A stream of a device that takes calls. */
export interface OpenDevice {
  /** The calls that came since the last look. */
  take(): readonly NumberedCall[];
  /** The stream has ended: what it took and did not answer fails. */
  close(): void;
}

interface Stream {
  readonly wake: () => void;
  outbox: NumberedCall[];
}

interface Pending {
  readonly call: DeviceCall;
  readonly done: (response: Uint8Array) => void;
  readonly failed: (error: ConnectError) => void;
}

interface Running extends Pending {
  readonly stream: Stream;
}

interface Device {
  /** Newest last. */
  readonly streams: Set<Stream>;
  readonly waiting: Set<Pending>;
  readonly running: Map<number, Running>;
}

/**
 * The devices that take calls, by part. An answer counts for the part whose credentials it came
 * with alone, once, and while somebody waits for it.
 */
export class DeviceCalls {
  readonly #devices = new Map<string, Device>();
  #lastId = Math.floor(Math.random() * LARGEST_ID);

  /** Whether a part's device takes calls now. */
  takes(partId: string): boolean {
    return this.#devices.has(partId);
  }

  /** A stream of the part takes calls from now on. @param wake called when there are some. */
  opened(partId: string, wake: () => void): OpenDevice {
    const device = this.#devices.get(partId) ??
      { streams: new Set(), waiting: new Set(), running: new Map() };
    this.#devices.set(partId, device);
    const stream: Stream = { wake, outbox: [] };
    device.streams.add(stream);
    return {
      take() {
        const calls = stream.outbox;
        stream.outbox = [];
        return calls;
      },
      close: () => this.#closed(partId, device, stream),
    };
  }

  /**
   * Calls a device.
   *
   * @throws {ConnectError} how the device failed; UNAVAILABLE when it is away or goes away,
   * RESOURCE_EXHAUSTED when too many wait for it.
   */
  call(partId: string, call: DeviceCall, signal: CancelSignal): Promise<Uint8Array> {
    const device = this.#devices.get(partId);
    if (!device) throw away();
    if (!mayWait([...device.waiting], call)) {
      throw refusal("TRY_LATER", {}, "too many calls wait for this device", Code.ResourceExhausted);
    }
    if (call.request.length > MOST_REQUEST_BYTES) {
      throw refusal(
        "TOO_LARGE",
        { most: MOST_REQUEST_BYTES },
        `the request is larger than ${MOST_REQUEST_BYTES} bytes`,
        Code.ResourceExhausted,
      );
    }
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
    const pending: Pending = { call, done: resolve, failed: reject };
    const leave = () => {
      this.#forget(device, pending);
      reject(ConnectError.from(signal.reason, Code.Canceled));
    };
    if (signal.aborted) throw ConnectError.from(signal.reason, Code.Canceled);
    signal.addEventListener("abort", leave, { once: true });
    device.waiting.add(pending);
    this.#hand(device);
    return promise.finally(() => signal.removeEventListener("abort", leave));
  }

  /** Takes what a device answers; gives back what nobody here waits for. */
  answer(partId: string, answers: readonly DeviceAnswer[]): DeviceAnswer[] {
    const device = this.#devices.get(partId);
    if (!device) return [...answers];
    const unknown: DeviceAnswer[] = [];
    for (const answer of answers) {
      const running = device.running.get(answer.id);
      if (!running) {
        unknown.push(answer);
        continue;
      }
      device.running.delete(answer.id);
      const error = errorOf(answer);
      if (error) running.failed(error);
      else running.done(answer.response);
    }
    this.#hand(device);
    return unknown;
  }

  /** Gives the newest stream what waits. */
  #hand({ streams, waiting, running }: Device): void {
    const stream = [...streams].at(-1);
    if (!stream) return;
    let some = false;
    while (running.size < MOST_AT_ONCE) {
      const pending = nextOf(waiting, running);
      if (!pending) break;
      waiting.delete(pending);
      const id = this.#nextId(running);
      running.set(id, { ...pending, stream });
      stream.outbox.push({ id, ...pending.call });
      some = true;
    }
    if (some) stream.wake();
  }

  #nextId(running: ReadonlyMap<number, unknown>): number {
    do this.#lastId = this.#lastId >= LARGEST_ID ? 1 : this.#lastId + 1; while (
      running.has(this.#lastId)
    );
    return this.#lastId;
  }

  /** Its caller left: the place is free, whatever the device makes of it. */
  #forget(device: Device, pending: Pending): void {
    device.waiting.delete(pending);
    for (const [id, { done, stream }] of device.running) {
      if (done !== pending.done) continue;
      device.running.delete(id);
      stream.outbox = stream.outbox.filter((call) => call.id !== id);
    }
    this.#hand(device);
  }

  #closed(partId: string, device: Device, stream: Stream): void {
    if (!device.streams.delete(stream)) return;
    for (const [id, running] of device.running) {
      if (running.stream !== stream) continue;
      device.running.delete(id);
      running.failed(away());
    }
    if (device.streams.size > 0) return this.#hand(device);
    this.#devices.delete(partId);
    for (const { failed } of device.waiting) failed(away());
  }
}

function mayWait(waiting: readonly Pending[], { caller, request }: DeviceCall): boolean {
  const bytes = waiting.reduce((sum, { call }) => sum + call.request.length, request.length);
  return waiting.length < MOST_WAITING && bytes <= MOST_WAITING_BYTES &&
    waiting.filter(({ call }) => call.caller === caller).length < MOST_OF_CALLER;
}

/** The oldest call of the caller who has the fewest calls at the device. */
function nextOf(
  waiting: ReadonlySet<Pending>,
  running: ReadonlyMap<number, Running>,
): Pending | undefined {
  const counts = new Map<string, number>();
  for (const { call: { caller } } of running.values()) {
    counts.set(caller, (counts.get(caller) ?? 0) + 1);
  }
  let best: Pending | undefined;
  let fewest = Infinity;
  for (const pending of waiting) {
    const count = counts.get(pending.call.caller) ?? 0;
    if (count >= fewest) continue;
    best = pending;
    fewest = count;
  }
  return best;
}

function away(): ConnectError {
  return refusal("OFFLINE", {}, "the machine is offline", Code.Unavailable);
}

function errorOf({ response, code, message }: DeviceAnswer): ConnectError | undefined {
  if (code !== 0) {
    const known = Code[code] === undefined ? Code.Unknown : code as Code;
    return new ConnectError(message.slice(0, MOST_TEXT), known);
  }
  if (response.length <= MOST_ANSWER_BYTES) return undefined;
  return refusal(
    "TOO_LARGE",
    { most: MOST_ANSWER_BYTES },
    `the device's answer is larger than ${MOST_ANSWER_BYTES} bytes`,
    Code.ResourceExhausted,
  );
}
