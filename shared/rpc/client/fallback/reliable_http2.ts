/**
 * Whether this runtime's HTTP/2 client can be relied on. Before Deno 2.9 a third of the first calls
 * on a connection get no answer, and a ping that is not answered ends the process (measured on
 * 2.7.11, the runtime of binaries compiled in closed networks).
 */
export function hasReliableHttp2(denoVersion: string = Deno.version.deno): boolean {
  const [major = 0, minor = 0] = denoVersion.split(".").map(Number);
  return major > 2 || (major === 2 && minor >= 9);
}
