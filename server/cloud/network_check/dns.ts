/** Questions to one name server, by UDP and by TCP. */
import { Buffer } from "node:buffer";
import { decode, encode, type Packet, streamDecode, streamEncode } from "dns-packet";
import type { NetworkProbe } from "./probe.ts";
import type { HostPort } from "./targets.ts";

/**
 * The IPv4 addresses of a name, by UDP.
 *
 * @throws when there is no answer until the signal aborts, or it has no address.
 */
export async function askByUdp(
  probe: NetworkProbe,
  server: HostPort,
  name: string,
  signal: AbortSignal,
): Promise<string[]> {
  const id = newId();
  const socket = await probe.openUdp();
  try {
    const answer = new Promise<Uint8Array>((resolve, reject) => {
      socket.onMessage = (message) => {
        if ((message[0]! << 8 | message[1]!) === id) resolve(message);
      };
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    await socket.send(encode(question(id, name)), server);
    return addressesOf(decode(Buffer.from(await answer)), name);
  } finally {
    socket.close();
  }
}

/** {@link askByUdp} over TCP. */
export async function askByTcp(
  probe: NetworkProbe,
  server: HostPort,
  name: string,
  signal: AbortSignal,
): Promise<string[]> {
  const isWhole = (answer: Uint8Array) =>
    answer.length >= 2 && answer.length >= 2 + (answer[0]! << 8 | answer[1]!);
  const request = streamEncode(question(newId(), name));
  const answer = await probe.tcp(server, request, isWhole, signal);
  return addressesOf(streamDecode(Buffer.from(answer)), name);
}

function question(id: number, name: string): Packet {
  return {
    type: "query",
    id,
    flags: 0x0100, // Recursion desired.
    questions: [{ type: "A", name }],
  };
}

function addressesOf(packet: Packet, name: string): string[] {
  const { rcode } = packet as { rcode?: string };
  if (rcode !== undefined && rcode !== "NOERROR") throw new Error(`${name}: ${rcode}`);
  const addresses = (packet.answers ?? []).flatMap((answer) =>
    answer.type === "A" ? [answer.data] : []
  );
  if (addresses.length === 0) throw new Error(`${name} has no address there`);
  return addresses;
}

function newId(): number {
  return crypto.getRandomValues(new Uint16Array(1))[0]!;
}
