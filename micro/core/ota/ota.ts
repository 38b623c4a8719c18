import type { JsonObject } from "../../../shared/gen/micro/messages.ts";
import { type FileReader, FirstFile } from "../archive/first_file.ts";
import { ArchiveError, Gunzip } from "../archive/inflate.ts";
import { fromHex, hex, sameBytes } from "../bytes/bytes.ts";
import { fromUtf8, utf8 } from "../bytes/utf8.ts";
import type { Firmware, Host, TimerId } from "../host/host.ts";
import { HttpClient, type Origin, parseOrigin } from "../http/client.ts";
import type { LogQueue } from "../log/log_queue.ts";
import { Attributes } from "../resources/attributes.ts";
import { textOf } from "../rpc/errors.ts";

const FLASH_KEY = "ota";
const ATTEMPTS = 5;
const PAUSE_MS = 1_000;
/**
 * Until the next attempts, when the image's server could not be reached: twice as long each time, as
 * each may erase a slot of flash. Milliseconds.
 */
export const RETRY_MS = 5 * 60_000;
const LONGEST_RETRY_MS = 6 * 3600_000;
/** A server that sends a little now and then holds up an update for so long. Milliseconds. */
export const DOWNLOAD_MS = 3600_000;
const HEAD_TIMEOUT_MS = 30_000;
const SILENCE_MS = 30_000;
/** New firmware has so long to reach the cloud; then the one before comes back. Milliseconds. */
export const TRIAL_MS = 5 * 60_000;
const LARGEST_IMAGE = 16 * 1024 * 1024;
/** Of an archive, unpacked, with all that stands before the image. */
const LARGEST_ARCHIVE = LARGEST_IMAGE + 1024 * 1024;

/** The firmware that the configuration wants. */
interface Wanted {
  readonly url: string;
  readonly version: string;
  readonly sha256: Uint8Array;
  readonly signature: Uint8Array | undefined;
}

export interface OtaOptions {
  readonly host: Host;
  readonly log: LogQueue;
  /** Raw Ed25519 key that images have to be signed with; undefined: the hash alone counts. */
  readonly publicKey: Uint8Array | undefined;
  /**
   * Headers for a request for the image, which sign in where the cloud itself keeps it. `refused`:
   * those before were not accepted.
   */
  readonly headersFor?: (
    origin: Origin,
    refused: boolean,
  ) => Promise<Readonly<Record<string, string>>>;
}

/** What the signature of an image is over: its version and hash, so that neither can be exchanged. */
export function signedText(version: string, sha256: Uint8Array): Uint8Array {
  return utf8(`machine-micro-server firmware\n${version}\n${hex(sha256)}\n`);
}

/** Brings the firmware that the configuration wants, and goes back from one that does not work. */
export class Ota {
  #busy = false;
  #attributes: JsonObject | undefined;
  #retry: TimerId | undefined;
  #retryMs = RETRY_MS;
  /** Breaks off the download that runs. */
  #breakOff: ((why: string) => void) | undefined;
  #trial: TimerId | undefined;

  constructor(private readonly options: OtaOptions) {
    const { host, log } = options;
    const { firmware } = host;
    if (!firmware || firmware.confirmed) return;
    log.write("info", "ota", `${firmware.version} is on trial until it reaches the cloud`);
    this.#trial = host.setTimer(TRIAL_MS, () => {
      log.write(
        "error",
        "ota",
        `${firmware.version} did not reach the cloud; the one before returns`,
      );
      firmware.rollBack();
      host.restart();
    });
  }

  /** The cloud was reached: the firmware works. */
  reached(): void {
    const { host, log } = this.options;
    if (this.#trial === undefined) return;
    host.clearTimer(this.#trial);
    this.#trial = undefined;
    host.firmware?.confirm();
    log.write("info", "ota", `${host.firmware?.version} is confirmed`);
  }

  /** Brings the firmware of the service's attributes, if it is not the one that runs. */
  async apply(attributes: JsonObject | undefined): Promise<void> {
    // The same in a new configuration breaks off nothing.
    if (JSON.stringify(attributes) !== JSON.stringify(this.#attributes)) {
      this.#attributes = attributes;
      this.#retryMs = RETRY_MS;
      this.#breakOff?.("another update is wanted");
    }
    this.#clearRetry();
    if (this.#busy) return;
    this.#busy = true;
    try {
      for (;;) {
        const taken = this.#attributes;
        if (!taken || await this.#bring(taken) || taken === this.#attributes) return;
      }
    } finally {
      this.#busy = false;
    }
  }

  /** Ends what waits. */
  close(): void {
    this.#attributes = undefined;
    this.#breakOff?.("the device stops");
    this.#clearRetry();
  }

  /** @returns whether the device restarts with other firmware */
  async #bring(attributes: JsonObject): Promise<boolean> {
    const { host, log } = this.options;
    try {
      const { firmware } = host;
      if (!firmware) throw new WrongImage("this program is updated by the system it runs on");
      const wanted = this.#read(attributes);
      if (wanted.version === firmware.version) return false;
      if (this.#cameBack(wanted)) {
        throw new WrongImage(`${wanted.version} was tried and rolled back; it is not tried again`);
      }
      log.write("info", "ota", `downloads ${wanted.version}`);
      await this.#downloadAndCheck(firmware, wanted, attributes);
      // Somebody wants another one by now, or none.
      if (this.#attributes !== attributes) {
        firmware.finish(false);
        return false;
      }
      firmware.finish(true);
      // Afterwards: a power cut in between costs one more attempt, and not the update.
      host.flash.write(FLASH_KEY, utf8(markOf(wanted)));
      log.write("info", "ota", `${wanted.version} is there; restarts`);
      host.restart();
      return true;
    } catch (error) {
      const later = error instanceof Unreachable && this.#attributes === attributes;
      const how = later ? `; it is tried again in ${this.#retryMs / 60_000} minutes` : "";
      log.write("error", "ota", `no update: ${textOf(error)}${how}`);
      if (later) {
        this.#retry = host.setTimer(this.#retryMs, () => void this.apply(attributes));
        this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RETRY_MS);
      }
      return false;
    }
  }

  #clearRetry(): void {
    if (this.#retry !== undefined) this.options.host.clearTimer(this.#retry);
    this.#retry = undefined;
  }

  #read(json: JsonObject): Wanted {
    const attributes = new Attributes(json);
    const url = attributes.text("url");
    const version = attributes.text("version");
    const sha256 = fromHex(attributes.text("sha256"));
    if (sha256?.length !== 32) throw new Error("attributes.sha256 must be 64 hexadecimal digits");
    if (version.length > 128) throw new Error("attributes.version is longer than 128 characters");
    const { publicKey, host, log } = this.options;
    const signature = fromHex(attributes.text("signature", ""));
    if (publicKey) {
      const signed = signature?.length === 64 &&
        host.verifyEd25519(publicKey, signedText(version, sha256), signature);
      if (!signed) throw new Error("attributes.signature is not of the key of this firmware");
      const runs = host.firmware?.version ?? "";
      if (isOlder(version, runs)) {
        throw new Error(
          `${version} is older than ${runs}; sign what is to replace it as a newer version`,
        );
      }
    }
    for (const name of attributes.unread) log.write("warn", "ota", `${name} has no effect`);
    return { url, version, sha256, signature };
  }

  #cameBack(wanted: Wanted): boolean {
    const kept = this.options.host.flash.read(FLASH_KEY);
    return kept !== undefined && fromUtf8(kept) === markOf(wanted);
  }

  async #downloadAndCheck(
    firmware: Firmware,
    wanted: Wanted,
    attributes: JsonObject,
  ): Promise<void> {
    const { host } = this.options;
    let refused = false;
    for (let attempt = 1;; attempt++) {
      try {
        return await this.#download(firmware, wanted, refused);
      } catch (error) {
        firmware.finish(false);
        if (error instanceof WrongImage || error instanceof ArchiveError) throw error;
        if (this.#attributes !== attributes) throw error;
        if (attempt === ATTEMPTS) throw new Unreachable(textOf(error));
        refused = error instanceof Refused;
      }
      await new Promise<void>((resolve) => void host.setTimer(PAUSE_MS, resolve));
      if (this.#attributes !== attributes) throw new Error("another update is wanted");
    }
  }

  async #download(
    firmware: Firmware,
    { url, sha256 }: Wanted,
    refused: boolean,
  ): Promise<void> {
    const match = /^(https?:\/\/[^/]+)(\/\S*)$/.exec(url);
    const origin = match?.[1] === undefined ? undefined : parseOrigin(match[1]);
    if (!origin) throw new WrongImage('attributes.url must be written as "https://HOST/PATH"');
    const { host, headersFor } = this.options;
    const client = new HttpClient(host, origin);
    let broken: Error | undefined;
    const breakOff = (error: Error) => {
      broken ??= error;
      client.close();
    };
    this.#breakOff = (why) => breakOff(new Error(why));
    const tooLong = host.setTimer(
      DOWNLOAD_MS,
      () => breakOff(new Error("the image's server is too slow")),
    );
    let silence: TimerId | undefined;
    const heard = () => {
      if (silence !== undefined) host.clearTimer(silence);
      silence = host.setTimer(SILENCE_MS, () => client.close("the image's server is silent"));
    };
    let left = 0;
    const image: FileReader = {
      onStart(size) {
        if (!(size > 0 && size <= LARGEST_IMAGE)) {
          throw new WrongImage(`an image of ${size} bytes is not taken`);
        }
        left = size;
        firmware.begin(size);
      },
      onBytes(bytes) {
        left -= bytes.length;
        firmware.write(bytes);
      },
    };
    const file = new FirstFile(image);
    let unpacked = 0;
    const gunzip = new Gunzip((bytes) => {
      unpacked += bytes.length;
      if (unpacked > LARGEST_ARCHIVE) throw new ArchiveError("the archive is too large");
      file.push(bytes);
    });
    const isArchive = /\.(tar\.gz|tgz)$/.test(url.replace(/\?.*$/, ""));
    try {
      const signedIn = await headersFor?.(origin, refused) ?? {};
      if (broken) throw broken;
      await client.stream({
        method: "GET",
        path: match?.[2] ?? "/",
        headers: { connection: "close", ...signedIn },
        timeoutMs: HEAD_TIMEOUT_MS,
        most: LARGEST_IMAGE,
      }, {
        onHead: (status, headers) => {
          if (status === 401) {
            throw new Refused("the image's server takes no sign-in of this device");
          }
          if (status !== 200) throw new Error(`the image's server answered with status ${status}`);
          // The size of an archive says nothing of the image.
          if (!isArchive) image.onStart(Number(headers.get("content-length") ?? NaN));
          heard();
        },
        onBody: (bytes) => {
          heard();
          if (!isArchive) image.onBytes(bytes);
          else if (!file.done) gunzip.push(bytes);
          // What follows the image is nobody's.
          if (isArchive && file.done) client.close();
        },
      });
    } catch (error) {
      if (broken || !file.done) throw broken ?? error;
    } finally {
      this.#breakOff = undefined;
      host.clearTimer(tooLong);
      if (silence !== undefined) host.clearTimer(silence);
      client.close();
    }
    if (left !== 0 || isArchive && !file.done) throw new Error("the image is cut off");
    if (!sameBytes(firmware.digest(), sha256)) {
      throw new WrongImage("the image has another hash than attributes.sha256");
    }
  }
}

/** Another attempt would bring the same. */
class WrongImage extends Error {}

/** Later it may be otherwise. */
class Unreachable extends Error {}

/** The sign-in was not accepted. */
class Refused extends Error {}

function markOf({ version, sha256 }: Wanted): string {
  return `${version} ${hex(sha256)}`;
}

/** Whether numbers with dots before anything else are lower: `1.9.0` before `1.10.0-rc1`. */
function isOlder(version: string, than: string): boolean {
  const numbers = (text: string) => (/^\d+(\.\d+)*/.exec(text)?.[0] ?? "").split(".").map(Number);
  const [ours, theirs] = [numbers(version), numbers(than)];
  for (let i = 0; i < Math.max(ours.length, theirs.length); i++) {
    const difference = (ours[i] ?? 0) - (theirs[i] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
