import type { ByteSocket } from "./socket.ts";

export interface TlsSocketOptions {
  /** PEM text of the authority to trust. Default: the system's. */
  readonly ca?: string | undefined;
  /** How long it may take to connect, in milliseconds. Default 15 s. */
  readonly timeoutMs?: number;
}

const CONNECT_MS = 15_000;

/** There is something, but nobody who speaks HTTP/2 over TLS in time. */
class NoHttp2Error extends Error {
  override readonly name = "NoHttp2Error";
}

/**
 * Opens a connection for HTTP/2 to `https://host:port`.
 *
 * @throws {NoHttp2Error} when the peer speaks no HTTP/2 or takes too long.
 */
export async function openTlsSocket(
  address: string,
  { ca, timeoutMs = CONNECT_MS }: TlsSocketOptions = {},
): Promise<ByteSocket> {
  const { hostname, port } = new URL(address);
  const options = {
    // The brackets of an IPv6 address belong to the URL only.
    hostname: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port || 443),
    alpnProtocols: ["h2"],
    ...(ca !== undefined && { caCerts: [ca] }),
  };
  let late = false;
  const connected = Deno.connectTls(options).then(async (connection) => {
    try {
      const { alpnProtocol } = await connection.handshake();
      if (late || alpnProtocol !== "h2") {
        throw new NoHttp2Error(`${address} does not support HTTP/2`);
      }
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  });
  const timeout = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    late = true;
    timeout.reject(new NoHttp2Error(`${address} did not answer within ${timeoutMs / 1_000} s`));
  }, timeoutMs);
  try {
    const connection = await Promise.race([connected, timeout.promise]);
    return {
      read: (into) => connection.read(into),
      write: (bytes) => connection.write(bytes),
      close: once(() => connection.close()),
    };
  } catch (error) {
    connected.catch(() => undefined);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** A `Deno.Conn` throws when it is closed again. */
function once(run: () => void): () => void {
  let done = false;
  return () => {
    if (!done) run();
    done = true;
  };
}
