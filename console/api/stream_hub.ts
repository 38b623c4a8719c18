/**
 * One stream for all windows of a browser that want the same: without TLS a browser has six
 * connections to a cloud. It runs in a worker that they share, and understands of the messages only
 * where one ends.
 */
import { Envelopes } from "./envelopes.ts";

/** What a window that comes later gets of what was sent before. */
export type Replay = "all" | "first";

/** What a window sends. */
export type ToHub =
  | {
    readonly kind: "open";
    readonly id: number;
    /** Equal for streams that are the same, also for who is signed in. */
    readonly key: string;
    readonly replay: Replay;
    /** One that sends nothing for this time is dead, and nobody joins it. Left out: never. */
    readonly silenceMs?: number | undefined;
    readonly url: string;
    readonly headers: readonly (readonly [string, string])[];
    readonly body: Uint8Array<ArrayBuffer>;
  }
  | { readonly kind: "close"; readonly id: number }
  /** It took what was sent. */
  | { readonly kind: "taken"; readonly id: number };

/** What a window gets. */
export type FromHub =
  | { readonly kind: "ready" }
  | {
    readonly kind: "head";
    readonly id: number;
    readonly status: number;
    readonly headers: readonly (readonly [string, string])[];
  }
  | { readonly kind: "bytes"; readonly id: number; readonly bytes: readonly Uint8Array[] }
  | { readonly kind: "end"; readonly id: number }
  | { readonly kind: "failed"; readonly id: number };

type Send = (message: FromHub) => void;
type Head = Pick<Extract<FromHub, { kind: "head" }>, "status" | "headers">;

interface Reader {
  readonly id: number;
  readonly send: Send;
  /** Since when it has not taken what was sent; undefined: it has. */
  waitsSinceMs: number | undefined;
}

interface Stream {
  readonly key: string;
  readonly stop: AbortController;
  readonly replay: Replay;
  readonly readers: Set<Reader>;
  head: Head | undefined;
  sent: Uint8Array[];
  size: number;
  /** When something came last. */
  receivedAtMs: number;
}

/** More is not kept for those who come later: they open another stream. */
const MOST_KEPT = 16 * 1024 * 1024;
/** A window that takes nothing for so long has crashed. */
const GONE_AFTER_MS = 60_000;
const STREAM_TYPE = /^application\/connect\+/;

export interface HubOptions {
  readonly fetch: typeof fetch;
  readonly nowMs: () => number;
}

export class StreamHub {
  readonly #streams = new Map<string, Stream>();

  constructor(private readonly options: HubOptions) {}

  /** How many streams new readers join. */
  get size(): number {
    return this.#streams.size;
  }

  /** Takes a window; the returned function gets what it sends. */
  connect(send: Send): (message: ToHub) => void {
    const own = new Map<number, { readonly reader: Reader; readonly stream: Stream }>();
    send({ kind: "ready" });
    return (message) => {
      const { id } = message;
      const known = own.get(id);
      if (message.kind === "open") {
        own.set(id, this.#join(message, send));
      } else if (message.kind === "close") {
        own.delete(id);
        if (known) this.#leave(known.stream, known.reader);
      } else if (known?.stream.readers.has(known.reader)) {
        known.reader.waitsSinceMs = undefined;
      } else if (known) {
        // It was taken for dead.
        own.delete(id);
        send({ kind: "failed", id });
      }
    };
  }

  #join(open: Extract<ToHub, { kind: "open" }>, send: Send) {
    const reader: Reader = { id: open.id, send, waitsSinceMs: undefined };
    const { silenceMs = Infinity } = open;
    const known = this.#streams.get(open.key);
    const isDead = known && this.options.nowMs() - known.receivedAtMs >= silenceMs;
    if (isDead) this.#endSilentSince(known.receivedAtMs);
    const running = isDead ? undefined : known;
    if (running && running.size <= MOST_KEPT) {
      running.readers.add(reader);
      const { head, sent, replay } = running;
      if (head) send({ kind: "head", id: open.id, ...head });
      if (sent.length > 0) this.#bytes(reader, sent.slice(0, replay === "all" ? undefined : 1));
      return { reader, stream: running };
    }
    const stream: Stream = {
      ...{ key: open.key, replay: open.replay, stop: new AbortController() },
      ...{ readers: new Set([reader]), head: undefined, sent: [], size: 0 },
      receivedAtMs: this.options.nowMs(),
    };
    this.#streams.set(open.key, stream);
    void this.#run(stream, open);
    return { reader, stream };
  }

  #leave(stream: Stream, reader: Reader): void {
    stream.readers.delete(reader);
    if (stream.readers.size > 0) return;
    stream.stop.abort();
    this.#forget(stream);
  }

  /**
   * The network broke without saying so: also streams that send little, and nothing since, are dead.
   * Their windows open them again, where each alone would join what another one still has.
   */
  #endSilentSince(ms: number): void {
    for (const stream of [...this.#streams.values()]) {
      if (stream.receivedAtMs > ms) continue;
      stream.stop.abort();
      this.#forget(stream);
    }
  }

  #forget(stream: Stream): void {
    if (this.#streams.get(stream.key) === stream) this.#streams.delete(stream.key);
  }

  async #run(stream: Stream, { url, headers, body }: Extract<ToHub, { kind: "open" }>) {
    try {
      const response = await this.options.fetch(url, {
        ...{ method: "POST", redirect: "error" as const },
        headers: headers.map(([name, value]) => [name, value] as [string, string]),
        body,
        signal: stream.stop.signal,
      });
      const isStream = response.ok && STREAM_TYPE.test(response.headers.get("content-type") ?? "");
      // An error of something in between is nobody else's.
      if (!isStream) this.#forget(stream);
      stream.head = { status: response.status, headers: [...response.headers] };
      for (const { id, send } of stream.readers) send({ kind: "head", id, ...stream.head });
      stream.receivedAtMs = this.options.nowMs();
      const envelopes = new Envelopes();
      const reader = response.body?.getReader();
      for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
        stream.receivedAtMs = this.options.nowMs();
        this.#pass(stream, isStream ? envelopes.take(read.value) : [read.value]);
      }
      this.#forget(stream);
      for (const { id, send } of stream.readers) send({ kind: "end", id });
    } catch {
      this.#forget(stream);
      for (const { id, send } of stream.readers) send({ kind: "failed", id });
    } finally {
      // Windows are known as long as they are open; what was sent is not kept for that.
      stream.readers.clear();
      stream.sent = [];
    }
  }

  #pass(stream: Stream, bytes: readonly Uint8Array[]): void {
    if (bytes.length === 0) return;
    if (stream.size <= MOST_KEPT) {
      if (stream.replay === "all") {
        stream.sent.push(...bytes);
        for (const { length } of bytes) stream.size += length;
        // Nobody joins it any more.
        if (stream.size > MOST_KEPT) stream.sent = [];
      } else if (stream.sent.length === 0) stream.sent.push(...bytes.slice(0, 1));
    }
    for (const reader of [...stream.readers]) this.#bytes(reader, bytes);
    const now = this.options.nowMs();
    for (const reader of [...stream.readers]) {
      const { waitsSinceMs = now } = reader;
      if (now - waitsSinceMs > GONE_AFTER_MS) this.#leave(stream, reader);
    }
  }

  #bytes(reader: Reader, bytes: readonly Uint8Array[]): void {
    reader.waitsSinceMs ??= this.options.nowMs();
    reader.send({ kind: "bytes", id: reader.id, bytes });
  }
}
