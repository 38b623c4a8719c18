/** The newest image of a download folder, as far as its signatures count. */
import { compare } from "semver";
import { systemClock } from "../../shared/base/time/clock.ts";
import { isSecureAddress } from "../../shared/cloud/credentials/secure_address.ts";
import { DiskSpace } from "../../shared/transfer/download/disk_space.ts";
import { download } from "../../shared/transfer/download/download.ts";
import { HttpRequests, requireStatus } from "../../shared/transfer/download/http_requests.ts";
import { TRANSFER_LIMITS } from "../../shared/transfer/download/watchdog.ts";
import { parseChannelFile, requireCurrent } from "../../shared/transfer/releases/channel_file.ts";
import { imagePath } from "../../shared/transfer/releases/image_name.ts";
import { readMinisignPublicKey, verifyMinisign } from "../../shared/transfer/releases/minisign.ts";
import { AppImageError, type ImageLabel } from "./image_facts.ts";

const LONGEST_RECORD = 1_000_000;
const RECORD_WITHIN_MS = 60_000;

export interface NewestRelease {
  readonly version: string;
  /** Above 0: newer than the running one; 0: the same. */
  readonly order: number;
  /** Address of its image. */
  readonly url: string;
  /** SHA-256 of its image, hexadecimal; "" when it is not newer. */
  readonly sha256: string;
}

/**
 * Finds out what the folder's newest stable release is.
 *
 * @throws {AppImageError} when it has no image for this host, or a signature does not count
 * @throws {TransferError} when the folder cannot be reached
 */
export async function newestRelease(
  folder: string,
  { version, platform, releaseKey }: ImageLabel,
): Promise<NewestRelease> {
  const base = folder.endsWith("/") ? folder : `${folder}/`;
  const stable = await signedText(base, "stable.json", releaseKey);
  const newest = checked(stable.url, () => {
    const list = parseChannelFile(stable.text);
    requireCurrent(list, systemClock.now());
    return list.version;
  });
  requireComment(stable, newest);
  const path = imagePath(newest, platform);
  const url = new URL(path, base).href;
  const order = compare(newest, version);
  if (order <= 0) return { version: newest, order, url, sha256: "" };
  const sums = await signedText(base, `releases/${newest}/SHA256SUMS`, releaseKey);
  // The sums of another release have a signature that counts, too.
  requireComment(sums, newest);
  const line = sums.text.split("\n").find((line) => line.endsWith(`  ${path}`));
  const sha256 = /^[0-9a-f]{64}/.exec(line ?? "")?.[0];
  if (sha256 === undefined) {
    throw new AppImageError(`${base} has version ${newest}, but no image of it for ${platform}`);
  }
  return { version: newest, order, url, sha256 };
}

/** Writes the image to a file, whole and with the checksum that was signed. */
export async function fetchImage({ url, sha256 }: NewestRelease, path: string): Promise<void> {
  await download({
    ...{ requests, url, what: "image", announced: { sha256 }, needsChecksum: true },
    ...{ part: path, begun: undefined, onBegin: () => {}, onProgress: () => {} },
    ...{ space: new DiskSpace(), limits: TRANSFER_LIMITS, clock: systemClock },
    signal: new AbortController().signal,
  });
}

const requests = new HttpRequests({
  what: "the image",
  credentialsFor: () => ({}),
  objectionTo: (url) =>
    isSecureAddress(url.href) ? undefined : `${url.origin} is plaintext; use https://`,
  fetch,
});

interface Signed {
  readonly url: string;
  readonly text: string;
  readonly comment: string;
}

async function signedText(base: string, name: string, key: string): Promise<Signed> {
  const url = new URL(name, base).href;
  const text = await small(url);
  const signature = new TextDecoder().decode(await small(`${url}.minisig`));
  const comment = checked(url, () => verifyMinisign(readMinisignPublicKey(key), text, signature));
  return { url, text: new TextDecoder().decode(text), comment };
}

/** What a signature is for stands in its comment. */
function requireComment({ url, comment }: Signed, version: string): void {
  if (comment === `version:${version}`) return;
  throw new AppImageError(`${url}: the signature is of ${comment}; nothing was changed`);
}

function checked<T>(url: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new AppImageError(`${url}: ${error.message}; nothing was changed`);
  }
}

async function small(url: string): Promise<Uint8Array> {
  const signal = AbortSignal.timeout(RECORD_WITHIN_MS);
  const response = await requests.send("GET", url, {}, signal);
  try {
    requireStatus(response, url, [200]);
  } catch (error) {
    await response.body?.cancel();
    throw error;
  }
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes > LONGEST_RECORD) throw new AppImageError(`${url} is longer than it can be`);
  }
  return new Uint8Array(await new Blob(pieces as Uint8Array<ArrayBuffer>[]).arrayBuffer());
}
