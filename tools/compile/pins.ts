/** Checksums of what the toolchain fetches; `tools/pins.txt` explains the format. */
export class Pins {
  readonly #lines: string[][];

  /** @param text content of `tools/pins.txt`. */
  constructor(text: string) {
    this.#lines = text.split("\n").filter((l) => !l.startsWith("#")).map((l) =>
      l.trim().split(" ")
    );
  }

  /** Version of what is used for a purpose. @throws Error when the file has no such line. */
  versionFor(purpose: string): string {
    return this.#find("use", purpose)[3] ?? "";
  }

  /** SHA-512 in hex of a package's tarball. @throws Error when it is not pinned. */
  tarball(name: string, version: string): string {
    return this.#find("npm", name, version)[3] ?? "";
  }

  /** SHA-256 in hex of a program. @throws Error when it is not pinned. */
  file(name: string, version: string): string {
    return this.#find("file", name, version)[3] ?? "";
  }

  /** SHA-256 in hex of a crate's file. @throws Error when it is not pinned. */
  crate(name: string, version: string): string {
    return this.#find("crate", name, version)[3] ?? "";
  }

  #find(...fields: string[]): string[] {
    const line = this.#lines.find((l) => fields.every((field, i) => l[i] === field));
    if (line) return line;
    throw new Error(
      `tools/pins.txt has no line "${fields.join(" ")}", so it cannot be checked. Add its checksum`,
    );
  }
}

/** Hex digest of bytes. */
export async function digest(kind: "SHA-256" | "SHA-512", bytes: BufferSource): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest(kind, bytes)).toHex();
}

/** @throws Error naming both digests when they differ. */
export function requireDigest(what: string, have: string, want: string): void {
  if (have === want) return;
  throw new Error(
    `${what} is not what tools/pins.txt expects: it has checksum ${have}, expected ${want}. ` +
      "It was thrown away; if a proxy or mirror changes downloads, use another",
  );
}
