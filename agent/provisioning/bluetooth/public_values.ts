import type { ProvisioningStatus, VisibleNetwork } from "../provisioning_port.ts";

/** No attribute is longer (Bluetooth Core Specification, Vol 3 Part F 3.2.9). */
const MOST_BYTES = 512;
const SECURED = 0x80;

/** One byte: bit 0 is configured, bit 1 is online. */
export function statusByte(status: Pick<ProvisioningStatus, "hasCredentials" | "isOnline">) {
  return Uint8Array.of((status.hasCredentials ? 1 : 0) | (status.isOnline ? 2 : 0));
}

/**
 * For each network a byte with its strength and, as bit 7, whether it wants a password, then its
 * name and a NUL. Those that do not fit, and names with a NUL in them, are left out.
 */
export function networkList(networks: readonly VisibleNetwork[]): Uint8Array {
  return joined(
    networks.filter(({ ssidBytes }) => !ssidBytes.includes(0)).map((network) => {
      const signal = Math.round(Math.min(100, Math.max(0, network.signal)));
      const first = signal | (network.security === "open" ? 0 : SECURED);
      return Uint8Array.of(first, ...network.ssidBytes, 0);
    }),
  );
}

/** Texts, each with a NUL behind it; those that do not fit are left out. */
export function errorList(errors: readonly string[]): Uint8Array {
  return joined(
    errors.map((error) => new TextEncoder().encode(`${error.replaceAll("\0", " ")}\0`)),
  );
}

/** A text, cut between two characters where it is too long. */
export function textBytes(text: string, most: number = MOST_BYTES): Uint8Array {
  const bytes = new Uint8Array(most);
  const { written } = new TextEncoder().encodeInto(text, bytes);
  return bytes.slice(0, written);
}

function joined(items: readonly Uint8Array[]): Uint8Array {
  const bytes: number[] = [];
  for (const item of items) {
    if (bytes.length + item.length > MOST_BYTES) break;
    bytes.push(...item);
  }
  return Uint8Array.from(bytes);
}
