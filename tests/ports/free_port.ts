/**
 * Ports below the range that systems hand out automatically (from 32768 on Linux, 49152 elsewhere).
 * A test that stops a program and starts it again on its port would otherwise find it taken by any
 * connection that was opened meanwhile.
 */
const FROM = 12_000;
const TO = 32_000;

/** A TCP port of 127.0.0.1 that is free now, and so are the `count - 1` after it. */
export function freePort(count = 1): number {
  for (;;) {
    const port = FROM + Math.floor(Math.random() * (TO - FROM));
    if (Array.from({ length: count }, (_, i) => port + i).every(isFree)) return port;
  }
}

function isFree(port: number): boolean {
  try {
    Deno.listen({ hostname: "127.0.0.1", port }).close();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) return false;
    throw error;
  }
}
