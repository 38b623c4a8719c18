/** The connections that HTTP/2 runs over. */
import type { Socket } from "node:net";

/** What is needed of a connection to send. */
export interface WritableSocket {
  /** @returns how much of `bytes` was taken. */
  write(bytes: Uint8Array): Promise<number>;
  /** Ends reads and writes that are under way. */
  close(): void;
}

/** What is needed of a connection to send and receive; a `Deno.Conn` has it. */
export interface ByteSocket extends WritableSocket {
  /** Fills `into` with what has arrived; null at the end. */
  read(into: Uint8Array): Promise<number | null>;
}

/** How long a peer has to take what was written last. */
const GOODBYE_MS = 1_000;

/** The sending side of a socket of node:net or node:tls. */
export function writableOf(socket: Socket): WritableSocket {
  return {
    write: (bytes) =>
      new Promise((resolve, reject) => {
        socket.write(bytes, (error) => error ? reject(error) : resolve(bytes.length));
      }),
    close() {
      if (socket.destroyed) return;
      // To end it at once would lose what is on the way, where the peer has said more meanwhile.
      const timer = setTimeout(() => socket.destroy(), GOODBYE_MS);
      socket.once("close", () => clearTimeout(timer));
      socket.end();
    },
  };
}

/** Opens a plaintext connection to `unix:/path` or `http://host:port`. */
export async function openSocket(address: string): Promise<ByteSocket> {
  if (address.startsWith("unix:")) {
    return closing(await Deno.connect({ transport: "unix", path: address.slice("unix:".length) }));
  }
  const { hostname, port } = new URL(address);
  const connection = await Deno.connect({
    // The brackets of an IPv6 address belong to the URL only.
    hostname: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port || 80),
  });
  connection.setNoDelay();
  return closing(connection);
}

/** Closes once: a `Deno.Conn` throws when it is closed again. */
function closing(connection: Deno.Conn): ByteSocket {
  let open = true;
  return {
    read: (into) => connection.read(into),
    write: (bytes) => connection.write(bytes),
    close() {
      if (open) connection.close();
      open = false;
    },
  };
}

export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
