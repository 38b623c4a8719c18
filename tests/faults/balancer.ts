import { connect, createServer, type Server, type Socket } from "node:net";

const LOOK_EVERY_MS = 300;
const LOOK_LIMIT_MS = 2_000;

/**
 * Stands before several nodes, as a load balancer does that asks each for `/readyz`: a connection
 * goes to the next node that answers, and those of a node that answers no more are cut.
 */
export class Balancer implements AsyncDisposable {
  readonly #sockets = new Map<number, Set<Socket>>();
  readonly #ready = new Set<number>();
  readonly #stop = new AbortController();
  readonly #looking: Promise<void>;
  #turn = 0;

  private constructor(private readonly server: Server, private readonly ports: readonly number[]) {
    this.#looking = Promise.all(ports.map((port) => this.#look(port))).then(() => undefined);
    server.on("connection", (socket) => this.#pass(socket));
  }

  static async start(ports: readonly number[]): Promise<Balancer> {
    const server = createServer({ pauseOnConnect: true });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new Balancer(server, ports);
  }

  get port(): number {
    return (this.server.address() as { port: number }).port;
  }

  /** Nodes that answer. */
  get ready(): ReadonlySet<number> {
    return this.#ready;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#looking;
    for (const port of this.ports) this.#cut(port);
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  async #look(port: number): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const isReady = await fetch(`http://127.0.0.1:${port}/readyz`, {
        signal: AbortSignal.timeout(LOOK_LIMIT_MS),
      }).then(async (response) => {
        await response.body?.cancel();
        return response.ok ? "ready" : "leaving";
      }, () => "gone");
      if (isReady === "ready") this.#ready.add(port);
      else this.#ready.delete(port);
      if (isReady === "gone") this.#cut(port);
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }

  #cut(port: number): void {
    for (const socket of this.#sockets.get(port) ?? []) socket.destroy();
    this.#sockets.delete(port);
  }

  #pass(client: Socket): void {
    const ready = this.ports.filter((port) => this.#ready.has(port));
    const port = ready[this.#turn++ % Math.max(ready.length, 1)];
    client.on("error", () => client.destroy());
    if (port === undefined) return void client.destroy();
    const node = connect(port, "127.0.0.1");
    const sockets = this.#sockets.get(port) ?? new Set();
    this.#sockets.set(port, sockets.add(client));
    const end = () => {
      sockets.delete(client);
      client.destroy();
      node.destroy();
    };
    node.on("error", end).on("close", end);
    client.on("close", end);
    client.pipe(node).pipe(client);
  }
}
