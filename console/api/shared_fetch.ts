/** Streams of this window that it shares with the others of its browser. */
import { FLEET_SILENCE_MS } from "./silence.ts";
import type { FromHub, Replay, ToHub } from "./stream_hub.ts";

/**
 * Streams that are shared, and what a window that comes later gets of them: messages of the fleet
 * build on one another; of a log only the first counts, which says that it is followed.
 */
const SHARED: Readonly<
  Record<string, { readonly replay: Replay; readonly silenceMs?: number | undefined }>
> = {
  "/machine.cloud.v1.ConsoleService/WatchFleet": { replay: "all", silenceMs: FLEET_SILENCE_MS },
  "/viam.app.v1.AppService/TailRobotPartLogs": { replay: "first" },
};
/** A worker that has not begun by then is not waited for: streams are opened without it. */
const BEGINS_WITHIN_MS = 5_000;

interface Open {
  head(head: Extract<FromHub, { kind: "head" }>): void;
  bytes(bytes: readonly Uint8Array[]): void;
  end(): void;
  failed(): void;
}

/** The worker, as this window has it. */
class Hub {
  readonly #port: MessagePort;
  readonly #open = new Map<number, Open>();
  readonly #ready = Promise.withResolvers<boolean>();
  #next = 1;

  constructor() {
    const worker = new SharedWorker(new URL("./streams_worker.ts", import.meta.url), {
      type: "module",
    });
    this.#port = worker.port;
    this.#port.onmessage = ({ data }: MessageEvent<FromHub>) => this.#take(data);
    worker.onerror = () => this.#ready.resolve(false);
    setTimeout(() => this.#ready.resolve(false), BEGINS_WITHIN_MS);
  }

  /** Resolves when it is known whether it works. */
  get works(): Promise<boolean> {
    return this.#ready.promise;
  }

  open(request: Omit<Extract<ToHub, { kind: "open" }>, "kind" | "id">, open: Open): () => void {
    const id = this.#next++;
    this.#open.set(id, open);
    this.#send({ kind: "open", id, ...request });
    return () => {
      if (this.#open.delete(id)) this.#send({ kind: "close", id });
    };
  }

  #send(message: ToHub): void {
    this.#port.postMessage(message);
  }

  #take(message: FromHub): void {
    if (message.kind === "ready") return this.#ready.resolve(true);
    const { id } = message;
    const open = this.#open.get(id);
    if (!open) return;
    switch (message.kind) {
      case "head":
        return open.head(message);
      case "bytes":
        this.#send({ kind: "taken", id });
        return open.bytes(message.bytes);
      default:
        this.#open.delete(id);
        return message.kind === "end" ? open.end() : open.failed();
    }
  }
}

/**
 * As `fetch`, for calls of the cloud. With TLS a browser has one connection for all, and phones show
 * one window: there every window has streams of its own.
 *
 * @param session of who is signed in: nobody gets what another one opened, or what was opened in a
 *   session that is over.
 */
export function sharedFetch(session: () => string): typeof fetch {
  let hub: Hub | undefined;
  const isWanted = typeof SharedWorker !== "undefined" && location.protocol === "http:";
  return async (input, init) => {
    const { pathname, href } = new URL(String(input), location.href);
    const shared = SHARED[pathname];
    const body = init?.body;
    if (!isWanted || !shared || !(body instanceof Uint8Array)) return await fetch(input, init);
    hub ??= new Hub();
    if (!await hub.works) return await fetch(input, init);
    const headers = [...new Headers(init?.headers)];
    const key = JSON.stringify([session(), href, headers, [...body]]);
    return await opened(
      hub,
      { key, ...shared, url: href, headers, body: new Uint8Array(body) },
      init?.signal,
    );
  };
}

function opened(
  hub: Hub,
  request: Parameters<Hub["open"]>[0],
  signal: AbortSignal | null | undefined,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    let controller: ReadableStreamDefaultController<Uint8Array>;
    let isOver = false;
    const fail = (error: unknown): void => {
      if (isOver) return;
      isOver = true;
      signal?.removeEventListener("abort", aborted);
      reject(error);
      controller.error(error);
    };
    const aborted = (): void => {
      close();
      fail(signal?.reason);
    };
    const body = new ReadableStream<Uint8Array>({
      start: (started) => void (controller = started),
      cancel: () => {
        isOver = true;
        signal?.removeEventListener("abort", aborted);
        close();
      },
    });
    const close = hub.open(request, {
      head: ({ status, headers }) => {
        resolve(new Response(body, { status, headers: headers.map(([...pair]) => pair) }));
      },
      bytes: (all) => {
        for (const bytes of all) controller.enqueue(bytes);
      },
      end: () => {
        isOver = true;
        signal?.removeEventListener("abort", aborted);
        controller.close();
      },
      // As a browser says that the network failed.
      failed: () => fail(new TypeError("the stream ended before it was complete")),
    });
    signal?.addEventListener("abort", aborted);
  });
}
