/** Opens links, and keeps them open. */
import { Code, ConnectError } from "@connectrpc/connect";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Hardware } from "../kernel/host_hardware.ts";
import type { ByteLink } from "./byte_link.ts";
import { openSerialPort, type Parity } from "./serial_port.ts";

/** Where a link leads. */
export type LinkPlace =
  | { readonly kind: "tcp"; readonly hostname: string; readonly port: number }
  | {
    readonly kind: "serial";
    readonly path: string;
    readonly baudRate: number;
    readonly parity?: Parity | undefined;
  };

/** As messages name it. */
export function placeName(place: LinkPlace): string {
  return place.kind === "tcp" ? `${place.hostname}:${place.port}` : place.path;
}

/** @throws {ConnectError} that says what is wrong with the place. */
export async function openLink(
  place: LinkPlace,
  hardware: () => Hardware,
  clock: Clock,
  signal: AbortSignal,
): Promise<ByteLink> {
  if (place.kind === "serial") return openSerialPort(hardware(), clock, place);
  const { hostname, port } = place;
  try {
    const connection = await Deno.connect({ hostname, port, signal });
    connection.setNoDelay();
    return new TcpLink(connection);
  } catch (error) {
    signal.throwIfAborted();
    throw new ConnectError(
      `it cannot be reached (${toError(error).message}); check address, network and that it is on`,
      Code.Unavailable,
    );
  }
}

class TcpLink implements ByteLink {
  readonly #buffer = new Uint8Array(16 * 1024);
  #closed = false;

  constructor(private readonly connection: Deno.TcpConn) {}

  async read(): Promise<Uint8Array | undefined> {
    try {
      const length = await this.connection.read(this.#buffer);
      return length === null ? undefined : this.#buffer.slice(0, length);
    } catch (error) {
      if (this.#closed) return undefined;
      throw error;
    }
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let rest = bytes; rest.length > 0;) {
      rest = rest.subarray(await this.connection.write(rest));
    }
  }

  close(): Promise<void> {
    if (!this.#closed) this.connection.close();
    this.#closed = true;
    return Promise.resolve();
  }
}

export interface KeepLinkOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Opens the link. */
  readonly open: () => Promise<ByteLink>;
  /** Uses it until it ends; `works` is to be called once it is of use. */
  readonly use: (link: ByteLink, works: () => void) => Promise<void>;
  /** Notified of why there is none; undefined when there is one that works. */
  readonly state: (problem: string | undefined) => void;
}

/** Keeps a link open until the signal aborts, opening it again when it ends. */
export async function keepLink(options: KeepLinkOptions): Promise<void> {
  const { clock, signal, open, use, state } = options;
  const backoff = new Backoff({ minMs: 500, maxMs: 30_000 });
  const works = () => {
    state(undefined);
    backoff.reset();
  };
  while (!signal.aborted) {
    try {
      const link = await open();
      const hangUp = () => void link.close();
      signal.addEventListener("abort", hangUp, { once: true });
      try {
        if (signal.aborted) return;
        await use(link, works);
      } finally {
        signal.removeEventListener("abort", hangUp);
        await link.close();
      }
      if (!signal.aborted) state("the peer closed the connection");
    } catch (error) {
      if (signal.aborted) return;
      state(ConnectError.from(error).rawMessage);
    }
    await clock.sleep(backoff.next(), signal).catch(() => {});
  }
}
