import type { Server } from "node:net";
import { PortInUseError } from "./errors.ts";

/** Where a process listens: a TCP address (empty hostname: all addresses), or a unix socket. */
export type ListenAddress =
  | { readonly hostname: string; readonly port: number }
  | { readonly path: string };

/** Starts to listen. @throws {PortInUseError} when the port is taken */
export function listen(server: Server, address: ListenAddress): Promise<void> {
  const where = "path" in address ? address.path : `${address.hostname || "*"}:${address.port}`;
  return new Promise((resolve, reject) => {
    const failed = (error: Error & { code?: string }) =>
      reject(error.code === "EADDRINUSE" ? new PortInUseError(where, error) : error);
    server.once("error", failed);
    const listening = () => {
      server.off("error", failed);
      resolve();
    };
    if ("path" in address) server.listen({ path: address.path }, listening);
    else server.listen({ host: hostOf(address), port: address.port }, listening);
  });
}

/** A name may resolve to an address of the other family than clients try first. */
function hostOf({ hostname }: { hostname: string }): string {
  return hostname === "localhost" ? "127.0.0.1" : hostname || "0.0.0.0";
}
