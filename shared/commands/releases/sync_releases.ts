import { join } from "node:path";
import { createHash } from "node:crypto";
import type { Client } from "@connectrpc/connect";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { lt } from "semver";
import { toFileError } from "../../base/files/fs_error.ts";
import { linkedController } from "../../base/time/linked_controller.ts";
import {
  Channel,
  type Release,
  type ReleaseService,
  type RolloutSettingsSchema,
} from "../../gen/machine/cloud/v1/releases_pb.ts";
import {
  type ChannelFile,
  parseChannelFile,
  requireCurrent,
} from "../../transfer/releases/channel_file.ts";
import {
  type MinisignPublicKey,
  readMinisignPublicKey,
  verifyMinisign,
} from "../../transfer/releases/minisign.ts";
import { HttpRequests, shown } from "../../transfer/download/http_requests.ts";
import { TransferError } from "../../transfer/download/transfer_error.ts";
import { progressBar, type ProgressPlace } from "../output/progress.ts";
import { sendRelease } from "./add_release.ts";

const LONGEST_CHANNEL_FILE = 1024 * 1024;
const LONGEST_SIGNATURE = 4096;
/** A cloud takes notes of at most 10,000 characters. */
const LONGEST_NOTES = 9_000;
const ANSWER_WITHIN_MS = 60_000;
const DOWNLOAD_WITHIN_MS = 4 * 60 * 60_000;

/** Programs that clouds keep releases of. */
const PROGRAMS = ["machine-server", "machine-agent"];

/** Where releases come from, and whose signature counts. */
export interface ReleaseSource {
  /** Address of a download folder that `make release` made. */
  readonly from: string;
  /** Public key of minisign whose signature counts: a file, or the key itself. */
  readonly key: string;
  /** Which file is read: `stable.json` or `dev.json`. */
  readonly follows: "stable" | "dev";
}

/** What a download folder has to offer, once its signature was verified. */
export interface OfferedRelease {
  /** Address of the folder. */
  readonly base: URL;
  readonly newest: ChannelFile;
}

export interface BringOptions {
  /** Where new releases go in this cloud. */
  readonly channel: Channel;
  readonly rollout: MessageInitShape<typeof RolloutSettingsSchema> | undefined;
  /** Breaks it off. */
  readonly signal?: AbortSignal | undefined;
}

/** What became of a file of the release. */
export interface SyncedFile {
  readonly binary: string;
  readonly version: string;
  readonly platform: string;
  readonly outcome: "added" | "known";
}

/**
 * Reads what a download folder offers: its list, once signature, channel and day of expiry were
 * checked.
 *
 * @throws {Error} saying what is wrong with the folder or the signature
 */
export async function offeredRelease(
  { from, key, follows }: ReleaseSource,
  now: Date,
  signal?: AbortSignal,
): Promise<OfferedRelease> {
  const base = folderAddress(from);
  const publicKey = await readKey(key);
  const name = `${follows}.json`;
  const list = await fetchBytes(new URL(name, base), LONGEST_CHANNEL_FILE, signal);
  const signature = await fetchBytes(new URL(`${name}.minisig`, base), LONGEST_SIGNATURE, signal);
  const newest = verifiedList(list, new TextDecoder().decode(signature), publicKey, {
    ...{ follows, now, address: new URL(name, base).href },
  });
  return { base, newest };
}

/**
 * Brings a release of a download folder into a cloud. Nothing is added that is not what the list
 * says. What the cloud has already is left as it is, so that it can run every hour.
 *
 * @throws {Error} saying what is wrong with a file, or that the cloud has a newer release
 */
export async function bringRelease(
  client: Client<typeof ReleaseService>,
  { base, newest }: OfferedRelease,
  { channel, rollout, signal }: BringOptions,
  place: ProgressPlace,
): Promise<SyncedFile[]> {
  const synced: SyncedFile[] = [];
  for (const binary of PROGRAMS) {
    const { releases } = await client.listReleases({ binary });
    const known = releases.find(({ version }) => version === newest.version);
    if (known === undefined) requireNewer(binary, newest.version, releases, channel);
    let isNew = known === undefined;
    for (const file of newest.files.filter(({ program }) => program === binary)) {
      const what = { binary, version: newest.version, platform: file.platform };
      const there = known?.files.find(({ platform }) => platform === file.platform);
      if (there && there.sha256.toHex() !== file.sha256) {
        throw new Error(
          `${binary} ${newest.version} for ${file.platform} is another file in this cloud than ` +
            `in ${base.href}; remove it with release remove if it is the wrong one`,
        );
      }
      if (there) synced.push({ ...what, outcome: "known" });
      else {
        await inTempFolder(async (folder) => {
          const path = join(folder, binary);
          await download(new URL(file.path, base), path, file, { ...place, signal });
          const settings = isNew ? { channel, ...(rollout === undefined ? {} : { rollout }) } : {};
          await sendRelease(client, { ...what, notes: notesOf(newest), ...settings }, path, place);
        });
        isNew = false;
        synced.push({ ...what, outcome: "added" });
      }
    }
  }
  return synced;
}

/** Who got hold of the folder may have put an older list there, whose signature is as good. */
function requireNewer(
  binary: string,
  version: string,
  releases: readonly Release[],
  channel: Channel,
): void {
  const newer = releases.find((known) =>
    (known.channel === channel || known.channel === Channel.STABLE) && lt(version, known.version)
  );
  if (newer === undefined) return;
  throw new Error(
    `${binary} ${version} is older than ${newer.version}, which this cloud has; nothing was added`,
  );
}

/** The list, once it is known to be whose key it is and what was requested. */
function verifiedList(
  list: Uint8Array,
  signature: string,
  publicKey: MinisignPublicKey,
  { follows, now, address }: { follows: string; now: Date; address: string },
): ChannelFile {
  try {
    verifyMinisign(publicKey, list, signature);
    const newest = parseChannelFile(new TextDecoder().decode(list));
    // Put in the other's place.
    if (newest.channel !== follows) throw new RangeError(`it is the list of ${newest.channel}`);
    requireCurrent(newest, now);
    return newest;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Error(`${address}: ${error.message}; nothing was added`);
  }
}

/** The address of a download folder. @throws {Error} for what is none */
export function folderAddress(from: string): URL {
  const url = URL.parse(from.endsWith("/") ? from : `${from}/`);
  if (url !== null && isAllowed(url)) return url;
  throw new Error(
    `${from} must look like https://downloads.example; http:// is for this host only`,
  );
}

function isAllowed({ protocol, hostname }: URL): boolean {
  const isLocal = ["127.0.0.1", "[::1]", "localhost"].includes(hostname);
  return protocol === "https:" || (protocol === "http:" && isLocal);
}

/**
 * Reads a public key of minisign.
 *
 * @param key a file, or the key itself
 * @throws {RangeError} or {FileError}
 */
export async function readKey(key: string): Promise<MinisignPublicKey> {
  if (/^RW[A-Za-z0-9+/=]{54}$/.test(key)) return readMinisignPublicKey(key);
  try {
    return readMinisignPublicKey(await Deno.readTextFile(key));
  } catch (error) {
    if (error instanceof RangeError) throw error;
    throw toFileError(error, "read the public key", key);
  }
}

function notesOf({ notes }: ChannelFile): string {
  return notes.length <= LONGEST_NOTES ? notes : `${notes.slice(0, LONGEST_NOTES)}…`;
}

/** A small file, whole. */
async function fetchBytes(
  url: URL,
  limit: number,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  const options = { limit, withinMs: ANSWER_WITHIN_MS, signal };
  await receive(url, options, (piece) => void pieces.push(piece));
  return new Uint8Array(await new Blob(pieces as Uint8Array<ArrayBuffer>[]).arrayBuffer());
}

/** A file of the release, which is what the list says or not there. */
async function download(
  url: URL,
  path: string,
  { size, sha256 }: ChannelFile["files"][number],
  place: ProgressPlace & { readonly signal: AbortSignal | undefined },
): Promise<void> {
  const hash = createHash("sha256");
  const progress = progressBar(place, `download ${url.pathname.split("/").at(-1)}`, size);
  let bytes = 0;
  try {
    using file = await Deno.open(path, { write: true, createNew: true });
    const options = { limit: size, withinMs: DOWNLOAD_WITHIN_MS, signal: place.signal };
    await receive(url, options, async (piece) => {
      for (let at = 0; at < piece.length;) at += await file.write(piece.subarray(at));
      hash.update(piece);
      bytes += piece.length;
      progress.add(piece.length);
    });
  } finally {
    progress.end();
  }
  if (bytes === size && hash.digest("hex") === sha256) return;
  throw new Error(`${url.href} is not the file that the signed list describes; it was not added`);
}

async function receive(
  url: URL,
  { limit, withinMs, signal }: {
    limit: number;
    withinMs: number;
    signal: AbortSignal | undefined;
  },
  take: (piece: Uint8Array) => Promise<void> | void,
): Promise<void> {
  const ends = linkedController(signal ?? new AbortController().signal, withinMs);
  const requests = new HttpRequests({
    what: "the release",
    credentialsFor: () => ({}),
    objectionTo: (at) => isAllowed(at) ? undefined : `${shown(at)}: http:// is for this host only`,
    fetch,
  });
  try {
    const answer = await requests.send("GET", url.href, {}, ends.signal).catch((error) => {
      if (error instanceof TransferError) throw error;
      throw new Error(`${url.href} cannot be reached: ${error.message}`);
    });
    if (!answer.ok || !answer.body) {
      await answer.body?.cancel();
      throw new Error(`${url.href} answers ${answer.status} ${answer.statusText}`);
    }
    let bytes = 0;
    for await (const piece of answer.body) {
      bytes += piece.length;
      if (bytes > limit) throw new Error(`${url.href} is longer than ${limit} bytes`);
      await take(piece);
    }
  } finally {
    ends.abort();
  }
}

async function inTempFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "machine-release-" });
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
