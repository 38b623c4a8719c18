import { waitFor } from "../../../shared/base/time/wait_for.ts";

/** A request as it came in. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
  readonly atMs: number;
}

/** A real HTTP server that keeps what it was sent. For tests. */
export class FakeReceiver implements AsyncDisposable {
  readonly requests: ReceivedRequest[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  private constructor(
    private answer: (request: ReceivedRequest, count: number) => Response | Promise<Response>,
  ) {
    const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
    this.#server = Deno.serve(options, async (incoming) => {
      const { pathname, search } = new URL(incoming.url);
      const request = {
        method: incoming.method,
        path: pathname + search,
        headers: incoming.headers,
        body: await incoming.text(),
        atMs: performance.now(),
      };
      this.requests.push(request);
      return await this.answer(request, this.requests.length);
    });
  }

  /** @param answer gets the request and which one it is, from 1; left out: 200 */
  static start(
    answer: (request: ReceivedRequest, count: number) => Response | Promise<Response> = () =>
      new Response("ok"),
  ): FakeReceiver {
    return new FakeReceiver(answer);
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** Answers another way from now on. */
  answerWith(answer: (request: ReceivedRequest, count: number) => Response): void {
    this.answer = answer;
  }

  /** The requests, when there are so many. */
  async received(count: number, deadlineMs = 90_000): Promise<readonly ReceivedRequest[]> {
    const what = `${count} requests at the receiver`;
    await waitFor(() => this.requests.length >= count, { deadlineMs, what });
    return this.requests;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

/** A TCP server that treats each connection as the test says. For tests. */
export class FakeListener implements AsyncDisposable {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #open = new Set<Deno.TcpConn>();
  readonly #running: Promise<void>;
  connections = 0;

  constructor(private readonly treat: (connection: Deno.TcpConn) => Promise<void>) {
    this.#running = this.#accept();
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#listener.addr.port}`;
  }

  async #accept(): Promise<void> {
    for await (const connection of this.#listener) {
      this.connections++;
      this.#open.add(connection);
      // The peer may go at any time.
      this.treat(connection).catch(() => undefined);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    await this.#running.catch(() => undefined);
    for (const connection of this.#open) {
      try {
        connection.close();
      } catch {
        // The test has closed it.
      }
    }
  }
}
