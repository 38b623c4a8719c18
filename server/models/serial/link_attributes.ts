import { type Check, converted, text } from "../../resources/graph/attributes.ts";

/** "host:port"; `[::1]:502` for IPv6. */
export function hostAndPort(
  description: string,
): Check<{ hostname: string; port: number }> {
  return converted(text(description), "host:port, for example 192.168.1.10:502", (address) => {
    const [, bracketed, plain, port] = /^(?:\[([0-9a-f:.]+)\]|([^\s:/]+)):(\d{1,5})$/i
      .exec(address) ?? [];
    const hostname = bracketed ?? plain;
    return hostname && Number(port) >= 1 && Number(port) <= 65_535
      ? { hostname, port: Number(port) }
      : undefined;
  });
}

/** A file of /dev. */
export function serialPath(description: string): Check<string> {
  return converted(
    text(description),
    "a file of /dev, for example /dev/ttyUSB0",
    (path) => /^\/dev\/[\w.:/-]+$/.test(path) && !path.includes("..") ? path : undefined,
  );
}
