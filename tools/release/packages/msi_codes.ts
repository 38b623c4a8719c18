import { createHash } from "node:crypto";

/** Joins all versions of the agent's package for Windows; it never changes. */
export const UPGRADE_CODE = "{6E7B1C52-9D0C-4C0B-8E57-1A6D2F4B7C10}";

/** Names one version of the agent's package for Windows. The same version gives the same code. */
export function productCode(version: string): string {
  const bytes = createHash("sha256").update(`machine-agent msi ${version}`).digest().subarray(
    0,
    16,
  );
  bytes[6] = bytes[6]! & 0x0f | 0x80; // A UUID whose bits are its maker's.
  bytes[8] = bytes[8]! & 0x3f | 0x80;
  const hex = bytes.toString("hex").toUpperCase();
  const parts = [[0, 8], [8, 12], [12, 16], [16, 20], [20, 32]] as const;
  return `{${parts.map(([from, to]) => hex.slice(from, to)).join("-")}}`;
}
