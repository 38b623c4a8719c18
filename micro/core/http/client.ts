import { concat } from "../bytes/bytes.ts";
import { utf8 } from "../bytes/utf8.ts";
import type { Connection, Host, TimerId } from "../host/host.ts";
import { type Head, HttpParser } from "./parser.ts";

/** Where a server is. */
export interface Origin {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
}

/** `https://host:port` or `http://host:port`; undefined: it is none. */
export function parseOrigin(text: string): Origin | undefined {
  const match = /^(https?):\/\/([^/:@?#]+)(?::(\d{1,5}))?\/?$/.exec(text);
  if (!match?.[2]) return undefined;
  const tls = match[1] === "https";
  return { host: match[2], port: Number(match[3] ?? (tls ? 443 : 80)), tls };
}

export interface HttpRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Until the answer is there, or for streams until its head is. */
  readonly timeoutMs: number;
  /** Largest answer in bytes. */
  readonly most: number;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Uint8Array;
}

/** What a stream's reader does with its parts. */
export interface StreamReader {
  onHead(status: number, headers: ReadonlyMap<string, string>): void;
  onBody(bytes: Uint8Array): void;
}

/** One exchange at a time over one connection, which is kept for the next one. */
export class HttpClient {
  #connection: Connection | undefined;
  #exchange: Exchange | undefined;
  #parser: HttpParser | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(private readonly host: Host, private readonly origin: Origin) {}

  /** Whether a request is on its way or waits. */
  get busy(): boolean {
    return this.#exchange !== undefined;
  }

  /** @throws Error saying why there is no answer */
  request(request: HttpRequest): Promise<HttpResponse> {
    return this.#inTurn(() => this.#once(request));
  }

  /** Resolves when the stream ended. Give it a client of its own: it keeps the connection. */
  stream(request: HttpRequest, reader: StreamReader): Promise<void> {
    return this.#inTurn(async () => {
      await this.#once(request, reader);
    });
  }

  /** Breaks off what runs. */
  close(reason = "the connection was closed"): void {
    this.#fail(new Error(reason));
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #once(request: HttpRequest, reader?: StreamReader): Promise<HttpResponse> {
    const reused = this.#connection !== undefined;
    try {
      return await this.#send(request, reader);
    } catch (error) {
      // A kept connection may have been closed by the server just then.
      if (reused && error instanceof ClosedEarly) return await this.#send(request, reader);
      throw error;
    }
  }

  #send(request: HttpRequest, reader: StreamReader | undefined): Promise<HttpResponse> {
    return new Promise((resolve, reject) => {
      const timer = this.host.setTimer(
        request.timeoutMs,
        () => this.#fail(new Error(`no answer within ${request.timeoutMs / 1000} s`)),
      );
      this.#exchange = { request, reader, resolve, reject, timer, parts: [], head: undefined };
      if (this.#connection) this.#write(this.#connection, request);
      else this.#connect(request);
    });
  }

  #connect(request: HttpRequest): void {
    this.#parser = new HttpParser("responses", {
      onHead: (head) => this.#head(head),
      onBody: (bytes) => this.#body(bytes),
      onEnd: () => this.#end(),
    });
    const connection = this.host.connect(this.origin, {
      onOpen: () => {
        if (this.#connection === connection) this.#write(connection, request);
      },
      onData: (bytes) => {
        if (this.#connection !== connection) return;
        try {
          this.#parser?.push(bytes);
        } catch (error) {
          this.#fail(error);
        }
      },
      onEnd: () => {
        if (this.#connection !== connection) return;
        try {
          this.#parser?.end();
        } catch (error) {
          this.#fail(error);
        }
        this.#fail(new ClosedEarly("the server closed the connection"));
      },
      onError: (text) => {
        if (this.#connection === connection) this.#fail(new ClosedEarly(text));
      },
    });
    this.#connection = connection;
  }

  #write(connection: Connection, { method, path, headers, body }: HttpRequest): void {
    const { host, port, tls } = this.origin;
    const authority = port === (tls ? 443 : 80) ? host : `${host}:${port}`;
    const lines = [
      `${method} ${path} HTTP/1.1`,
      `host: ${authority}`,
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      ...(body ? [`content-length: ${body.length}`] : []),
    ];
    const head = utf8(`${lines.join("\r\n")}\r\n\r\n`);
    connection.write(body ? concat([head, body]) : head);
  }

  #head(head: Head): number {
    const exchange = this.#exchange;
    const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(head.start)?.[1] ?? NaN);
    if (!exchange || Number.isNaN(status)) throw new Error("the answer is not of HTTP/1.1");
    exchange.head = { status, headers: head.headers };
    if (exchange.reader) {
      this.host.clearTimer(exchange.timer);
      exchange.reader.onHead(status, head.headers);
      return Infinity;
    }
    return exchange.request.most;
  }

  #body(bytes: Uint8Array): void {
    const exchange = this.#exchange;
    if (exchange?.reader) exchange.reader.onBody(bytes);
    else exchange?.parts.push(bytes.slice());
  }

  #end(): void {
    const exchange = this.#exchange;
    if (!exchange?.head) return;
    this.#exchange = undefined;
    this.host.clearTimer(exchange.timer);
    const { status, headers } = exchange.head;
    if (/close/i.test(headers.get("connection") ?? "")) this.#drop();
    exchange.resolve({ status, headers, body: concat(exchange.parts) });
  }

  #fail(error: unknown): void {
    this.#drop();
    const exchange = this.#exchange;
    if (!exchange) return;
    this.#exchange = undefined;
    this.host.clearTimer(exchange.timer);
    // What was answered in part must not be sent again.
    exchange.reject(
      exchange.head && error instanceof ClosedEarly ? new Error(error.message) : error,
    );
  }

  #drop(): void {
    const connection = this.#connection;
    this.#connection = undefined;
    this.#parser = undefined;
    connection?.destroy();
  }
}

/** The connection ended before anything of an answer arrived. */
class ClosedEarly extends Error {}

interface Exchange {
  readonly request: HttpRequest;
  readonly reader: StreamReader | undefined;
  readonly resolve: (response: HttpResponse) => void;
  readonly reject: (error: unknown) => void;
  readonly timer: TimerId;
  readonly parts: Uint8Array[];
  head: { readonly status: number; readonly headers: ReadonlyMap<string, string> } | undefined;
}
