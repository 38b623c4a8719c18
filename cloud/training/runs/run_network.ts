import { isIP } from "node:net";
import { join } from "node:path";
import { writeAll } from "../../../shared/base/files/write_all.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import {
  Destinations,
  type DestinationsOptions,
  type HostPort,
  hostPortOf,
  RefusedDestinationError,
  type UpstreamProxy,
} from "./destinations.ts";
import { readHead, type RequestHead } from "./proxy_head.ts";
import type { WallNetwork } from "./sandbox.ts";

export interface RunNetworkOptions extends Omit<DestinationsOptions, "always"> {
  /** Where scripts reach the cloud. */
  readonly cloudUrl: string;
  readonly indexes: readonly HostPort[];
  readonly upstream: UpstreamProxy | undefined;
  readonly clock: Clock;
  /** Notified of each destination that was refused, once for each. */
  readonly refused: (reason: string) => void;
}

/** Connections of one run at a time; what comes on top waits for none and is closed. */
const MOST_CONNECTIONS = 128;
const CONNECT_MS = 15_000;
const MOST_REFUSALS_TOLD = 10;
const PROXY_PORT = 3128;

/**
 * The way out of a run: two sockets in a folder. `cloud` leads to the cloud's own address, `proxy`
 * is an HTTP proxy that connects to what {@link Destinations} allows. Names are resolved here, so
 * what was checked is what is connected to.
 */
export class RunNetwork implements WallNetwork, AsyncDisposable {
  readonly addresses: readonly string[];
  readonly hosts: string;
  readonly folder: string;
  readonly #cloud: HostPort;
  readonly #destinations: Destinations;
  readonly #open = new Set<Disposable>();
  readonly #told = new Set<string>();
  readonly #listeners: Deno.Listener[] = [];
  readonly #proxyPort: number;

  private constructor(private readonly options: RunNetworkOptions, private readonly home: string) {
    const cloud = hostPortOf(options.cloudUrl);
    if (!cloud) throw new Error(`${options.cloudUrl} is no address of a cloud`);
    const { host, port } = this.#cloud = cloud;
    const always = [...options.indexes, cloud];
    this.#destinations = new Destinations({ ...options, always });
    this.#proxyPort = port === PROXY_PORT ? PROXY_PORT + 1 : PROXY_PORT;
    const address = isIP(host) === 0 ? "127.0.0.1" : host;
    this.addresses = [`proxy=127.0.0.1:${this.#proxyPort}`, `cloud=${address}:${port}`];
    this.folder = join(home, "sockets");
    this.hosts = join(home, "hosts");
  }

  /** Opens both sockets, in a folder of their own in that for temporary files. */
  static async open(options: RunNetworkOptions): Promise<RunNetwork> {
    // Paths of sockets have 107 bytes at most; the cloud's folder may have a longer one.
    const network = new RunNetwork(options, await Deno.makeTempDir({ prefix: "machine-run-" }));
    try {
      await network.#start();
      return network;
    } catch (error) {
      await network[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** What makes programs use the proxy; those that know none reach the cloud only. */
  get environment(): Record<string, string> {
    const proxy = `http://127.0.0.1:${this.#proxyPort}`;
    const none = [...new Set(["localhost", "127.0.0.1", "::1", this.#cloud.host])].join(",");
    return {
      ...{ http_proxy: proxy, https_proxy: proxy, all_proxy: proxy, no_proxy: none },
      ...{ HTTP_PROXY: proxy, HTTPS_PROXY: proxy, ALL_PROXY: proxy, NO_PROXY: none },
    };
  }

  async #start(): Promise<void> {
    await Deno.mkdir(this.folder, { mode: 0o700 });
    const { host } = this.#cloud;
    const cloud = isIP(host) === 0 && host !== "localhost" ? `127.0.0.1 ${host}\n` : "";
    await Deno.writeTextFile(this.hosts, `127.0.0.1 localhost\n::1 localhost\n${cloud}`);
    this.#listen("cloud", (socket) => this.#toCloud(socket));
    this.#listen("proxy", (socket) => this.#proxy(socket));
  }

  #listen(name: string, serve: (socket: Deno.Conn) => Promise<void>): void {
    const listener = Deno.listen({ transport: "unix", path: join(this.folder, name) });
    this.#listeners.push(listener);
    void (async () => {
      for await (const socket of listener) {
        if (this.#open.size >= 2 * MOST_CONNECTIONS) {
          socket.close();
          continue;
        }
        const held = this.#hold(socket);
        void serve(socket).catch(() => {}).finally(() => held[Symbol.dispose]());
      }
    })().catch(() => {}); // closed with the run
  }

  async #toCloud(socket: Deno.Conn): Promise<void> {
    const outside = await this.#connect(
      await this.#destinations.addressesOf(this.#cloud),
      this.#cloud,
    );
    await this.#join(socket, outside, new Uint8Array());
  }

  async #proxy(socket: Deno.Conn): Promise<void> {
    const timer = this.options.clock.setTimer(CONNECT_MS, () => close(socket));
    const head = await readHead(socket).finally(() => timer.cancel());
    if (!head) return await answer(socket, 400, "this proxy takes CONNECT and plain HTTP");
    let outside: Deno.Conn;
    try {
      outside = await this.#dial(head);
    } catch (error) {
      const { message } = error as Error;
      const isRefused = error instanceof RefusedDestinationError;
      if (isRefused && !this.#told.has(message) && this.#told.size < MOST_REFUSALS_TOLD) {
        this.#told.add(message);
        this.options.refused(message);
      }
      return await answer(socket, isRefused ? 403 : 502, message);
    }
    const { upstream } = this.options;
    const start = upstream ? head.forProxy(upstream.authorization) : head.forTarget();
    if (head.isTunnel && !upstream) {
      await writeAll(socket, encode("HTTP/1.1 200 Connection established\r\n\r\n"));
    }
    await this.#join(socket, outside, start);
  }

  /** To where a request goes, or to the proxy that knows the way. */
  async #dial({ target }: RequestHead): Promise<Deno.Conn> {
    const { upstream } = this.options;
    if (!upstream) return await this.#connect(await this.#destinations.addressesOf(target), target);
    try {
      await this.#destinations.addressesOf(target);
    } catch (error) {
      // A host behind a proxy may know no names; the proxy does.
      const isUnknownName = isIP(target.host) === 0 && target.host.includes(".") &&
        !(error instanceof RefusedDestinationError);
      if (!isUnknownName) throw error;
    }
    return await this.#connect([upstream.host], upstream);
  }

  async #connect(addresses: readonly string[], { host, port }: HostPort): Promise<Deno.Conn> {
    let reason = "it has no address";
    for (const hostname of addresses.slice(0, 4)) {
      const connecting = Deno.connect({ hostname, port });
      const late = Promise.withResolvers<never>();
      const timer = this.options.clock.setTimer(CONNECT_MS, () => {
        late.reject(new Error(`no answer within ${CONNECT_MS / 1_000} s`));
        connecting.then(close, () => {});
      });
      try {
        return await Promise.race([connecting, late.promise]);
      } catch (error) {
        reason = (error as Error).message;
      } finally {
        timer.cancel();
      }
    }
    throw new Error(`cannot connect to ${host}:${port}: ${reason}`);
  }

  /** Copies both ways until both have ended. */
  async #join(inside: Deno.Conn, outside: Deno.Conn, first: Uint8Array): Promise<void> {
    using _held = this.#hold(outside);
    if (first.length > 0) await writeAll(outside, first);
    const closing = { preventClose: true };
    const there = inside.readable.pipeTo(outside.writable, closing)
      .then(() => outside.closeWrite());
    const back = outside.readable.pipeTo(inside.writable, closing).then(() => inside.closeWrite());
    const ended = await Promise.allSettled([there, back].map((way) =>
      way.catch((error) => {
        close(inside);
        close(outside);
        throw error;
      })
    ));
    void ended;
  }

  #hold(socket: Deno.Conn): Disposable {
    const held = {
      [Symbol.dispose]: () => {
        this.#open.delete(held);
        close(socket);
      },
    };
    this.#open.add(held);
    return held;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const listener of this.#listeners) listener.close();
    for (const held of [...this.#open]) held[Symbol.dispose]();
    await Deno.remove(this.home, { recursive: true });
  }
}

const encode = (text: string) => new TextEncoder().encode(text);

async function answer(socket: Deno.Conn, status: number, message: string): Promise<void> {
  const head = `HTTP/1.1 ${status} Refused\r\nContent-Type: text/plain\r\nConnection: close\r\n`;
  const length = `Content-Length: ${encode(message).length + 1}\r\n\r\n`;
  await writeAll(socket, encode(`${head}${length}${message}\n`));
}

function close(socket: Disposable): void {
  try {
    socket[Symbol.dispose]();
  } catch {
    // It is closed already.
  }
}
