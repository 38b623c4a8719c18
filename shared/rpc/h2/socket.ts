/** The connections that HTTP/2 runs over. */

/** What is needed of a connection; a `Deno.Conn` has it. */
export interface ByteSocket {
  /** Fills `into` with what has arrived; null at the end. */
  read(into: Uint8Array): Promise<number | null>;
  /** @returns how much of `bytes` was taken. */
  write(bytes: Uint8Array): Promise<number>;
  /** Ends reads and writes that are under way. */
  close(): void;
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
