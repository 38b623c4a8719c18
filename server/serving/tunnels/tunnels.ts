/** Ways for callers to ports of this host that the configuration names. */
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { NetworkConfig } from "../../../shared/config/network.ts";
import type { TunnelRequest } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { withDeadline } from "../../../shared/base/time/deadline.ts";
import { parseGoDuration } from "../../../shared/base/time/duration.ts";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";

/** How long a port may take to answer when the configuration specifies nothing. Milliseconds. */
const CONNECTION_TIMEOUT_MS = 10_000;

/** Bytes of one message to the caller; that of the reference server, machine-server.md §5.11. */
const CHUNK_BYTES = 32 * 1024;

/** Tunnels that are open at the same time. Ours: far more than people need. */
const MOST_TUNNELS = 100;

export interface TunnelOptions {
  readonly clock: Clock;
  /** Connects to a port of this host. Default: over TCP to 127.0.0.1. */
  readonly connect?: (port: number) => Promise<Deno.Conn>;
}

/** A port that may be reached. */
interface Endpoint {
  readonly port: number;
  readonly timeoutMs: number;
}

/**
 * `Tunnel` and `ListTunnels` of RobotService. A tunnel lives as long as its call: the end of the
 * caller's stream ends what goes to the port, and the port's end ends the call.
 */
export class Tunnels {
  #endpoints: readonly Endpoint[] = [];
  /** Open tunnels, each with what ends it, by the port they go to. */
  readonly #open = new Map<AbortController, number>();
  readonly #clock: Clock;
  readonly #connect: (port: number) => Promise<Deno.Conn>;

  constructor({ clock, connect }: TunnelOptions) {
    this.#clock = clock;
    this.#connect = connect ?? ((port) => Deno.connect({ hostname: "127.0.0.1", port }));
  }

  /** Which ports may be reached from now on; tunnels to others are closed. */
  setEndpoints(endpoints: NetworkConfig["traffic_tunnel_endpoints"] = []): void {
    this.#endpoints = endpoints.map(({ port, connection_timeout: timeout }) => ({
      port,
      timeoutMs: timeout ? parseGoDuration(timeout) : CONNECTION_TIMEOUT_MS,
    }));
    for (const [tunnel, port] of this.#open) {
      if (!this.#find(port)) tunnel.abort(notAvailable(port));
    }
  }

  #find(port: number): Endpoint | undefined {
    return this.#endpoints.find((known) => known.port === port);
  }

  /** The answer to ListTunnels. */
  list() {
    return {
      tunnels: this.#endpoints.map(({ port, timeoutMs }) => ({
        port,
        connectionTimeout: durationFromMs(timeoutMs),
      })),
    };
  }

  /**
   * The answer to Tunnel. The first message names the port; all that follows goes there as it is.
   *
   * @throws {ConnectError} FAILED_PRECONDITION for a port that the configuration does not name,
   * UNAVAILABLE when nothing answers there, RESOURCE_EXHAUSTED when too many tunnels are open.
   */
  async *open(requests: AsyncIterable<TunnelRequest>, signal: AbortSignal) {
    const stream = requests[Symbol.asyncIterator]();
    const first = await stream.next();
    if (first.done) {
      throw new ConnectError(
        "the stream was closed without a message that names destination_port",
        Code.InvalidArgument,
      );
    }
    const { destinationPort: port } = first.value;
    const endpoint = this.#find(port);
    if (!endpoint) throw notAvailable(port);
    if (this.#open.size >= MOST_TUNNELS) {
      throw new ConnectError(
        `${MOST_TUNNELS} tunnels are open; close one first`,
        Code.ResourceExhausted,
      );
    }
    const tunnel = linkedController(signal);
    this.#open.set(tunnel, port);
    try {
      const connection = await this.#dial(endpoint, tunnel.signal);
      yield* pump(connection, first.value, stream, tunnel.signal);
    } finally {
      this.#open.delete(tunnel);
      tunnel.abort(); // unties it from the caller's signal
    }
  }

  async #dial({ port, timeoutMs }: Endpoint, signal: AbortSignal): Promise<Deno.Conn> {
    let isLate = false;
    try {
      return await withDeadline(async () => {
        const connection = await this.#connect(port);
        if (isLate) connection.close();
        return connection;
      }, { clock: this.#clock, deadlineMs: timeoutMs, what: "the connection", signal });
    } catch (error) {
      isLate = true;
      signal.throwIfAborted();
      throw new ConnectError(
        `cannot connect to port ${port} of this host: ${toError(error).message}`,
        Code.Unavailable,
      );
    }
  }
}

function notAvailable(port: number): ConnectError {
  return new ConnectError(
    `tunnel not available at port ${port}; network.traffic_tunnel_endpoints of the ` +
      "configuration names the ports that may be reached",
    Code.FailedPrecondition,
  );
}

/** Passes bytes on in both directions until the port or the caller is done for good. */
async function* pump(
  connection: Deno.Conn,
  first: TunnelRequest,
  rest: AsyncIterator<TunnelRequest>,
  signal: AbortSignal,
) {
  let isClosed = false;
  const close = () => {
    if (!isClosed) connection.close();
    isClosed = true;
  };
  // Not only at the end of this generator: nobody may be there any more who asks it for more.
  signal.addEventListener("abort", close, { once: true });
  if (signal.aborted) close();
  const sending = send(connection, first, rest);
  // Without it, a caller that goes away would leave the port waiting.
  sending.catch(close);
  const buffer = new Uint8Array(CHUNK_BYTES);
  try {
    for (;;) {
      const size = await readSome(connection, buffer, signal);
      if (size === null) return;
      yield { data: buffer.slice(0, size) };
    }
  } finally {
    signal.removeEventListener("abort", close);
    close();
  }
}

/** What the caller sends, then the end of it. */
async function send(
  connection: Deno.Conn,
  first: TunnelRequest,
  rest: AsyncIterator<TunnelRequest>,
): Promise<void> {
  for (let data: Uint8Array | undefined = first.data; data;) {
    for (let sent = 0; sent < data.length;) sent += await connection.write(data.subarray(sent));
    const next: IteratorResult<TunnelRequest> = await rest.next();
    data = next.done ? undefined : next.value.data;
  }
  await connection.closeWrite();
}

/** Null at the end, which a connection that was broken off has reached, too. */
async function readSome(
  connection: Deno.Conn,
  buffer: Uint8Array,
  signal: AbortSignal,
): Promise<number | null> {
  try {
    return await connection.read(buffer);
  } catch (error) {
    signal.throwIfAborted();
    throw new ConnectError(
      `the connection to the port was broken off: ${toError(error).message}`,
      Code.Aborted,
    );
  }
}
