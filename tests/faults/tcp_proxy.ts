import { connect, createServer, type Server, type Socket } from "node:net";

/** A network between two programs that a test can take away. */
export class TcpProxy implements AsyncDisposable {
  #state: "open" | "cut" | "silent" = "open";
  #pairs = new Set<[Socket, Socket]>();

  private constructor(
    readonly port: number,
    /** Where new connections go. */
    public targetPort: number,
    readonly server: Server,
  ) {}

  /** Listens on a free port of 127.0.0.1 and passes connections on to `targetPort`. */
  static async start(targetPort: number): Promise<TcpProxy> {
    const server = createServer();
    const { promise, resolve } = Promise.withResolvers<void>();
    server.listen({ host: "127.0.0.1", port: 0 }, () => resolve());
    await promise;
    const address = server.address();
    if (typeof address !== "object" || address === null) throw new Error("no port");
    const proxy = new TcpProxy(address.port, targetPort, server);
    server.on("connection", (socket) => proxy.#accept(socket));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Connections that are open now. */
  get connections(): number {
    return this.#pairs.size;
  }

  /** Resets all connections and every new one. */
  cut(): void {
    this.#state = "cut";
    this.reset();
  }

  /** Resets all connections; new ones go through. */
  reset(): void {
    for (const [near, far] of this.#pairs) {
      near.resetAndDestroy();
      far.resetAndDestroy();
    }
    this.#pairs.clear();
  }

  /** Keeps all connections open and passes nothing on, as a network does that loses packets. */
  silence(): void {
    this.#state = "silent";
    for (const sockets of this.#pairs) for (const socket of sockets) socket.pause();
  }

  /** Passes bytes on again; connections that were silent stay so, as real ones time out. */
  restore(): void {
    this.#state = "open";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.server.close(() => resolve());
    await promise;
  }

  #accept(near: Socket): void {
    near.on("error", () => {});
    if (this.#state === "cut") {
      near.resetAndDestroy();
      return;
    }
    const far = connect({ host: "127.0.0.1", port: this.targetPort });
    far.on("error", () => near.destroy());
    const pair: [Socket, Socket] = [near, far];
    this.#pairs.add(pair);
    near.on("data", (bytes) => far.write(bytes));
    far.on("data", (bytes) => near.write(bytes));
    near.on("close", () => far.destroy());
    far.on("close", () => {
      near.destroy();
      this.#pairs.delete(pair);
    });
    if (this.#state === "silent") { for (const socket of pair) socket.pause(); }
  }
}
