/** JPEG by libjpeg-turbo in WebAssembly: a third of the time of plain JavaScript. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliDecompressSync } from "node:zlib";
import { buildInfo } from "../base/build_info/build_info.ts";

/** Its functions (turbojpeg.h); places in memory are numbers. */
interface Turbo {
  readonly memory: WebAssembly.Memory;
  malloc(size: number): number;
  free(at: number): void;
  tjInitDecompress(): number;
  tjDestroy(decoder: number): number;
  /** 0 when the head could be read; then there are width, height, kind and colours. */
  tjDecompressHeader3(
    ...args: [
      decoder: number,
      jpeg: number,
      size: number,
      ...results: [number, number, number, number],
    ]
  ): number;
  /** 0 when the image is whole. */
  tjDecompress2(
    ...args: [
      ...[decoder: number, jpeg: number, size: number, to: number],
      ...[width: number, pitch: number, height: number, format: number, flags: number],
    ]
  ): number;
}

/** Three bytes a pixel: red, green, blue. */
interface DecodedJpeg {
  readonly width: number;
  readonly height: number;
  readonly rgb: Uint8Array;
}

const TJPF_RGB = 0;
/** The first of these kinds of colours that it cannot convert: CMYK, YCCK. */
const TJCS_CMYK = 3;
/** Ends where the image is damaged; without it, only when all has been read. */
const TJFLAG_STOPONWARNING = 8192;
/** More scans than any camera or program makes: what is damaged is not read to its end. */
const USUAL_SCANS = 20;
/** Its memory never shrinks: with more, it is not kept for the next image. */
const MOST_KEPT_BYTES = 64 * 1024 * 1024;
/** With more, what it cannot decode is not left to a decoder that needs as much again. */
const MOST_TRIED_BYTES = 256 * 1024 * 1024;

/** Decodes images of a process. */
export class TurboJpeg {
  #turbo: Turbo | undefined;

  private constructor(private readonly module: WebAssembly.Module) {}

  /** Reads it from its file. */
  static async load(): Promise<TurboJpeg> {
    const isBundled = buildInfo.nativeSqlite !== undefined;
    const content = await Deno.readFile(
      isBundled
        ? join(buildInfo.assetsDir("jpeg", import.meta.url), "turbo.bin.br")
        : fileURLToPath(new URL("jpeg-turbo.wasm", import.meta.resolve("@cwasm/jpeg-turbo"))),
    );
    const wasm = isBundled ? new Uint8Array(brotliDecompressSync(content)) : content;
    return new TurboJpeg(await WebAssembly.compile(wasm));
  }

  /**
   * The image; undefined for one that is damaged, larger, or of colours that it cannot convert.
   *
   * @param limits `mostPixels` of the image; how many `scans` it has.
   * @throws {Error} for a large one that is damaged.
   */
  decode(
    bytes: Uint8Array,
    limits: { readonly mostPixels: number; readonly scans: number },
  ): DecodedJpeg | undefined {
    let taken = 0;
    let image: DecodedJpeg | undefined;
    try {
      const turbo = this.#turbo ??= this.#start();
      try {
        image = decode(turbo, bytes, limits);
      } finally {
        taken = turbo.memory.buffer.byteLength;
      }
      if (taken > MOST_KEPT_BYTES) this.#turbo = undefined;
    } catch {
      // It left in the middle of its work, as it is short of memory or the image is damaged.
      this.#turbo = undefined;
    }
    if (!image && taken > MOST_TRIED_BYTES) {
      throw new Error("it is damaged, and too large to be read all the same");
    }
    return image;
  }

  #start(): Turbo {
    const none = () => 0;
    const leave = () => {
      throw new Error("the image is damaged");
    };
    const { exports } = new WebAssembly.Instance(this.module, {
      env: { setjmp: none, longjmp: leave },
      wasi_snapshot_preview1: {
        ...{ proc_exit: leave, fd_close: none, fd_seek: none, fd_write: none },
        ...{ environ_get: none, environ_sizes_get: none },
      },
    });
    return exports as unknown as Turbo;
  }
}

function decode(
  turbo: Turbo,
  bytes: Uint8Array,
  { mostPixels, scans }: { readonly mostPixels: number; readonly scans: number },
): DecodedJpeg | undefined {
  const decoder = turbo.tjInitDecompress();
  const jpeg = allocated(turbo, bytes.length);
  const head = allocated(turbo, 16);
  let to = 0;
  try {
    new Uint8Array(turbo.memory.buffer).set(bytes, jpeg);
    const results = [head, head + 4, head + 8, head + 12] as const;
    if (turbo.tjDecompressHeader3(decoder, jpeg, bytes.length, ...results) !== 0) return undefined;
    const [width = 0, height = 0, , colours = 0] = new Uint32Array(turbo.memory.buffer, head, 4);
    if (width * height > mostPixels || colours >= TJCS_CMYK) return undefined;
    to = allocated(turbo, width * height * 3);
    const flags = scans > USUAL_SCANS ? TJFLAG_STOPONWARNING : 0;
    const into = [to, width, width * 3, height, TJPF_RGB, flags] as const;
    if (turbo.tjDecompress2(decoder, jpeg, bytes.length, ...into) !== 0) return undefined;
    return {
      width,
      height,
      rgb: new Uint8Array(turbo.memory.buffer, to, width * height * 3).slice(),
    };
  } finally {
    for (const each of [jpeg, head, to]) turbo.free(each);
    turbo.tjDestroy(decoder);
  }
}

function allocated(turbo: Turbo, size: number): number {
  const at = turbo.malloc(size);
  if (at === 0) throw new Error("there is no memory");
  return at;
}
