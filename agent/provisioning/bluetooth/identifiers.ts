import { createHash } from "node:crypto";

/** The namespace in which the family's apps look for names (RFC 9562 5.5). */
const NAMESPACE = "74a942f4-0f45-43f4-88ca-f87021ae36ea";

/** What a person writes: each value sealed, see `sealed_values.ts`. */
export const WRITTEN = [
  "ssid",
  "psk",
  "id",
  "secret",
  "api_key",
  "app_address",
  "exit_provisioning",
  "unlock_pairing",
] as const;
/** What everybody reads, and is notified of when it changes. */
export const READ = [
  "pub_key",
  "status",
  "manufacturer",
  "model",
  "fragment_id",
  "networks",
  "errors",
  "agent_version",
] as const;

export type WrittenName = typeof WRITTEN[number];
export type ReadName = typeof READ[number];

/** The UUID of a characteristic, or of whatever else has a name. */
export function uuidOf(name: string): string {
  const namespace = Uint8Array.fromHex(NAMESPACE.replaceAll("-", ""));
  const bytes = createHash("sha1").update(namespace).update(name).digest().subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x50;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  const at = [0, 8, 12, 16, 20, 32];
  return at.slice(1).map((end, n) => hex.slice(at[n], end)).join("-");
}

/** The UUID of the service. @param brand `machine`, or that of the apps that shall find it. */
export const serviceUuid = (brand: string): string => uuidOf(`${brand}-provisioning`);
