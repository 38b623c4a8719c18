import { Code, type ConnectError } from "@connectrpc/connect";
import { refusal } from "../../shared/rpc/reasons.ts";
import {
  LARGEST_TEXT,
  META_FILE,
  type ModuleArchive,
  MOST_ENTRIES,
} from "../../shared/registry/module_archive/archive.ts";
import { innerPathProblem } from "../../shared/registry/item_rules.ts";

const BLOCK = 512;
const DIRECTORY = "5";
const LONG_NAME = "L";
const PAX = "x";
/** What describes entries, and is none. */
const ABOUT = new Set([LONG_NAME, PAX, "K", "g"]);

/**
 * Looks through a `.tar.gz` in the browser without unpacking it, in a bounded amount of memory.
 *
 * @param wanted paths of files whose texts are read, besides meta.json; those above 1 MiB are left
 * out
 * @throws {ConnectError} for what is no such archive, and for paths that leave it
 */
export async function readTarGz(
  file: File,
  wanted: readonly string[] = [],
): Promise<ModuleArchive> {
  const wrong = (reason: string) =>
    refusal(
      "ARCHIVE_WRONG",
      { file: file.name },
      `${file.name} cannot be used: ${reason}; make it with tar -czf FILE.tar.gz -C FOLDER .`,
      Code.InvalidArgument,
    );
  const source = new Source(file.stream().pipeThrough(new DecompressionStream("gzip")), wrong);
  const texts = new Map<string, string>();
  const files = new Set<string>();
  const read = new Set([META_FILE, ...wanted]);
  let next: { path?: string; size?: number } = {};
  try {
    for (let count = 0;; count++) {
      const header = await source.take(BLOCK);
      if (header === undefined || header.every((byte) => byte === 0)) break;
      if (count > MOST_ENTRIES) throw wrong(`it has more than ${MOST_ENTRIES} entries`);
      const { path: ownPath, size: ownSize, type } = headerOf(header, wrong);
      const { path: given = ownPath, size = ownSize } = ABOUT.has(type) ? {} : next;
      if (ABOUT.has(type)) {
        if (size > LARGEST_TEXT) throw wrong("it holds no whole tar");
        const about = new TextDecoder().decode(await source.body(size));
        if (type === LONG_NAME) next = { ...next, path: about.replace(/\0.*$/s, "") };
        if (type === PAX) next = { ...next, ...paxOf(about) };
        continue;
      }
      next = {};
      const path = normal(given);
      if (innerPathProblem(path || ".")) {
        throw wrong(`the path ${JSON.stringify(given)} leaves the archive`);
      }
      if (type !== DIRECTORY && !given.endsWith("/")) files.add(path);
      if (read.has(path) && size <= LARGEST_TEXT) {
        texts.set(path, new TextDecoder().decode(await source.body(size)));
      } else await source.skip(size);
    }
  } finally {
    await source.close();
  }
  if (files.size === 0) throw wrong("the archive is empty");
  return { files, meta: texts.get(META_FILE), texts };
}

/** The bytes of the tar, as many at a time as are requested. */
class Source {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #held: Uint8Array = new Uint8Array();

  constructor(
    stream: ReadableStream<Uint8Array>,
    private readonly wrong: (reason: string) => ConnectError,
  ) {
    this.#reader = stream.getReader();
  }

  /** Undefined where the tar ends; throws where it ends within them. */
  async take(count: number): Promise<Uint8Array | undefined> {
    const pieces: Uint8Array[] = [];
    let have = 0;
    while (have < count) {
      if (this.#held.length === 0 && !await this.#more()) {
        if (have === 0) return undefined;
        throw this.wrong("it ends within a file");
      }
      const piece = this.#held.subarray(0, count - have);
      this.#held = this.#held.subarray(piece.length);
      pieces.push(piece);
      have += piece.length;
    }
    const [only] = pieces;
    if (pieces.length === 1 && only) return only;
    const whole = new Uint8Array(count);
    let at = 0;
    for (const piece of pieces) {
      whole.set(piece, at);
      at += piece.length;
    }
    return whole;
  }

  /** The contents of an entry; what fills its last block is left out. */
  async body(size: number): Promise<Uint8Array> {
    const padded = await this.take(Math.ceil(size / BLOCK) * BLOCK);
    if (padded === undefined && size > 0) throw this.wrong("it ends within a file");
    return padded?.subarray(0, size) ?? new Uint8Array();
  }

  async skip(size: number): Promise<void> {
    let left = Math.ceil(size / BLOCK) * BLOCK;
    while (left > 0) {
      if (this.#held.length === 0 && !await this.#more()) throw this.wrong("it ends within a file");
      const gone = Math.min(left, this.#held.length);
      this.#held = this.#held.subarray(gone);
      left -= gone;
    }
  }

  async close(): Promise<void> {
    await this.#reader.cancel().catch(() => undefined); // it has ended
  }

  async #more(): Promise<boolean> {
    try {
      const { done, value } = await this.#reader.read();
      if (done) return false;
      this.#held = value;
      return true;
    } catch {
      throw this.wrong("it is no whole gzip file");
    }
  }
}

function headerOf(header: Uint8Array, wrong: (reason: string) => ConnectError) {
  const text = (at: number, length: number) =>
    new TextDecoder().decode(header.subarray(at, at + length)).replace(/\0.*$/s, "");
  const sum = header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 32 : byte), 0);
  if (parseInt(text(148, 8).trim(), 8) !== sum) throw wrong("it holds no whole tar");
  const prefix = text(257, 5) === "ustar" && header[262] === 0 ? text(345, 155) : "";
  const path = prefix === "" ? text(0, 100) : `${prefix}/${text(0, 100)}`;
  return { path, size: sizeOf(header), type: text(156, 1) };
}

/** Octal digits; or, of files from 8 GiB, a number of bytes. */
function sizeOf(header: Uint8Array): number {
  const field = header.subarray(124, 136);
  if (((field[0] ?? 0) & 0x80) === 0) {
    return parseInt(new TextDecoder().decode(field).replace(/\0.*$/s, "").trim() || "0", 8);
  }
  return field.subarray(4).reduce((size, byte) => size * 256 + byte, 0);
}

/** Lines of `LENGTH KEY=VALUE`. */
function paxOf(text: string): { path?: string; size?: number } {
  const path = /(?:^|\n)\d+ path=(.*)\n/.exec(text)?.[1];
  const size = /(?:^|\n)\d+ size=(\d+)\n/.exec(text)?.[1];
  return { ...(path === undefined ? {} : { path }), ...(size ? { size: Number(size) } : {}) };
}

function normal(path: string): string {
  return path.split("/").filter((part) => part !== "" && part !== ".").join("/");
}
