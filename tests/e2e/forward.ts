/** Carries TCP connections from one address to another, between two networks. */

/** `host:port`. */
function addressOf(text: string): Deno.ConnectOptions {
  const [hostname = "", port] = text.split(":");
  return { hostname, port: Number(port) };
}

/**
 * Listens at `from` and carries each connection to `to`, both `host:port`.
 *
 * @returns ends the listening; connections end with their peers.
 */
export function forward(from: string, to: string): () => void {
  const listener = Deno.listen({ ...addressOf(from), transport: "tcp" });
  void (async () => {
    for await (const near of listener) void carry(near, to);
  })();
  return () => listener.close();
}

async function carry(near: Deno.TcpConn, to: string): Promise<void> {
  const far = await Deno.connect(addressOf(to)).catch(() => undefined);
  if (far === undefined) return near.close();
  await Promise.allSettled([
    near.readable.pipeTo(far.writable),
    far.readable.pipeTo(near.writable),
  ]);
}

if (import.meta.main) {
  const [from = "", to = ""] = Deno.args;
  forward(from, to);
}
