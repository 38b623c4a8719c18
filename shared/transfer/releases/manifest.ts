/** What a release's signature is over: which file is which version of which program. */
export interface ReleaseManifest {
  /** `machine-server` or `machine-agent`. */
  readonly binary: string;
  readonly version: string;
  /** `os/architecture`, `linux/amd64`. */
  readonly platform: string;
  /** Bytes of the file. */
  readonly size: number;
  /** Of the file, hexadecimal. */
  readonly sha256: string;
}

const SIGNATURE_BYTES = 64;
const PUBLIC_KEY_BYTES = 32;

/**
 * The canonical text of a manifest: a line for each fact, in fixed order. Only this text is ever
 * signed, so a signature made for one file, platform or program is none for another.
 *
 * @throws {RangeError} when a fact could be read as another one.
 */
export function signedText({ binary, version, platform, size, sha256 }: ReleaseManifest): string {
  for (const [name, value] of Object.entries({ binary, version, platform })) {
    // A space or a new line would let two manifests have one text.
    if (!/^[!-~]{1,200}$/.test(value)) {
      throw new RangeError(`${name} ${JSON.stringify(value)} cannot be signed`);
    }
  }
  if (!Number.isSafeInteger(size) || size < 0) {
    throw new RangeError(`size ${size} cannot be signed`);
  }
  if (!/^[0-9a-f]{64}$/i.test(sha256)) {
    throw new RangeError(`sha256 ${JSON.stringify(sha256)} cannot be signed`);
  }
  const lines = [
    "machine release 1",
    `binary ${binary}`,
    `version ${version}`,
    `platform ${platform}`,
    `size ${size}`,
    `sha256 ${sha256.toLowerCase()}`,
  ];
  return `${lines.join("\n")}\n`;
}

/** Signs a manifest with an Ed25519 key. @returns 64 bytes. @throws {RangeError} */
export async function signRelease(
  privateKey: CryptoKey,
  manifest: ReleaseManifest,
): Promise<Uint8Array<ArrayBuffer>> {
  return await sign(privateKey, signedText(manifest));
}

/**
 * Whether a signature is the key's and over exactly this manifest. False, and never an error, for
 * what is no key, no signature or no manifest.
 *
 * @param publicKey Ed25519, 32 bytes
 */
export async function verifyRelease(
  publicKey: Uint8Array,
  manifest: ReleaseManifest,
  signature: Uint8Array,
): Promise<boolean> {
  let text: string;
  try {
    text = signedText(manifest);
  } catch {
    return false; // It cannot have been signed.
  }
  return await verify(publicKey, text, signature);
}

/** The text with which one release key vouches for the next one. */
function signedKeyText(publicKey: Uint8Array): string {
  return `machine release key 1\npublic_key ${publicKey.toHex()}\n`;
}

/** Lets one release key vouch for the next one. @returns 64 bytes. */
export async function signReleaseKey(
  privateKey: CryptoKey,
  publicKey: Uint8Array,
): Promise<Uint8Array<ArrayBuffer>> {
  return await sign(privateKey, signedKeyText(publicKey));
}

/** Whether the holder of `by` vouches for `publicKey`. Never an error. */
export async function verifyReleaseKey(
  by: Uint8Array,
  publicKey: Uint8Array,
  signature: Uint8Array,
): Promise<boolean> {
  if (publicKey.length !== PUBLIC_KEY_BYTES) return false;
  return await verify(by, signedKeyText(publicKey), signature);
}

/** The name of a release key: the first 16 hexadecimal digits of the public key's SHA-256. */
export async function releaseKeyId(publicKey: Uint8Array): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new Uint8Array(publicKey));
  return new Uint8Array(digest).toHex().slice(0, 16);
}

async function sign(privateKey: CryptoKey, text: string): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new TextEncoder().encode(text);
  return new Uint8Array(await crypto.subtle.sign("Ed25519", privateKey, bytes));
}

async function verify(
  publicKey: Uint8Array,
  text: string,
  signature: Uint8Array,
): Promise<boolean> {
  if (publicKey.length !== PUBLIC_KEY_BYTES || signature.length !== SIGNATURE_BYTES) return false;
  try {
    const key = await crypto.subtle.importKey(
      "raw",
      new Uint8Array(publicKey),
      "Ed25519",
      false,
      ["verify"],
    );
    const bytes = new TextEncoder().encode(text);
    return await crypto.subtle.verify("Ed25519", key, new Uint8Array(signature), bytes);
  } catch {
    return false; // 32 bytes that are no point of the curve.
  }
}
