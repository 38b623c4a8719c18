import { isIPv6 } from "node:net";
import { plainAddress } from "./peer.ts";

/**
 * What counts as one caller: an IPv4 address, or the /64 of an IPv6 address, which is what one
 * network is given and any of whose addresses one host can take.
 */
export function addressBlock(address: string): string {
  const plain = plainAddress(address);
  if (!isIPv6(plain)) return plain;
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(plain);
  if (mapped) {
    const [high, low] = [parseInt(mapped[1]!, 16), parseInt(mapped[2]!, 16)];
    return [high >> 8, high & 255, low >> 8, low & 255].join(".");
  }
  const [before = "", after] = plain.split("::");
  const head = before === "" ? [] : before.split(":");
  if (after !== undefined) {
    const tail = after === "" ? 0 : after.split(":").length + (after.includes(".") ? 1 : 0);
    while (head.length + tail < 8) head.push("0");
    head.push(...after.split(":"));
  }
  const groups = head.slice(0, 4).map((group) => parseInt(group, 16).toString(16));
  return `${groups.join(":")}::/64`;
}
