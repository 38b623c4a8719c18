/** Checksums of files: as servers announce them, and of what came. */
import { createHash } from "node:crypto";
import { Crc32c } from "../../base/files/crc32c.ts";

/** What is known of a file before it comes. */
export interface Announced {
  /** Base64 of the four bytes. */
  readonly crc32c?: string;
  /** Hexadecimal. */
  readonly sha256?: string;
}

/**
 * What a server reports of a file: `x-goog-hash: crc32c=<base64>`, and a SHA-256 in `repr-digest`
 * or `digest` (RFC 9530, RFC 3230), `x-goog-hash: sha256=<base64>` or `x-checksum-sha256` in
 * hexadecimal.
 */
export function announcedIn(headers: Headers): Announced {
  const hashes = named(headers.get("x-goog-hash"));
  const digests = named(
    [headers.get("repr-digest"), headers.get("digest")].filter(Boolean).join(","),
  );
  const crc32c = hashes.get("crc32c");
  const sha256 = sha256From(
    hashes.get("sha256") ?? digests.get("sha-256") ?? headers.get("x-checksum-sha256") ?? "",
  );
  return { ...(crc32c && { crc32c }), ...(sha256 && { sha256 }) };
}

/** A SHA-256 in hexadecimal or base64 as hexadecimal; undefined for anything else. */
export function sha256From(text: string): string | undefined {
  const bare = text.trim().replace(/^sha-?256[:=]/i, "").replace(/^:(.*):$/, "$1");
  if (/^[0-9a-f]{64}$/i.test(bare)) return bare.toLowerCase();
  if (!/^[A-Za-z0-9+/]{43}=$/.test(bare)) return undefined;
  return Array.from(atob(bare), (char) => char.charCodeAt(0).toString(16).padStart(2, "0")).join(
    "",
  );
}

/** The sums of bytes that come piece by piece. */
export class RunningChecksum {
  readonly #crc32c: Crc32c | undefined;
  readonly #sha256 = createHash("sha256");

  /** @param withCrc32c it is made by this program and not by the system: slow without a JIT. */
  constructor(withCrc32c = true) {
    this.#crc32c = withCrc32c ? new Crc32c() : undefined;
  }

  update(bytes: Uint8Array): void {
    this.#crc32c?.update(bytes);
    this.#sha256.update(bytes);
  }

  /** Call it once, at the end. */
  finish(): Found {
    const crc32c = this.#crc32c?.toBase64();
    return { sha256: this.#sha256.digest("hex"), ...(crc32c !== undefined && { crc32c }) };
  }
}

/** The sums of what came; without CRC-32C where it was not requested. */
export interface Found {
  readonly crc32c?: string;
  readonly sha256: string;
}

/** What differs, for the operator; undefined when all that was announced and is known is so. */
export function difference(announced: Announced, found: Found): string | undefined {
  for (const kind of ["crc32c", "sha256"] as const) {
    const expected = announced[kind];
    if (expected !== undefined && found[kind] !== undefined && expected !== found[kind]) {
      return `its ${kind} is ${found[kind]}, announced was ${expected}`;
    }
  }
}

function named(header: string | null): Map<string, string> {
  const pairs = (header ?? "").split(",").map((item) => item.trim()).filter(Boolean);
  return new Map(pairs.map((pair) => {
    const at = pair.indexOf("=");
    return [pair.slice(0, at).toLowerCase(), pair.slice(at + 1).replace(/^:(.*):$/, "$1")];
  }));
}
