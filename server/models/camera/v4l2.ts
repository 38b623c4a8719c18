/** Formats and controls of the kernel's video devices; linux/videodev2.h, little-endian. */
import { isKernelError, type SlowFile } from "../kernel/kernel.ts";

const ENUM_FORMAT = 0xc0405602;
const ENUM_SIZE = 0xc02c564a;
const ENUM_INTERVAL = 0xc034564b;
const QUERY_CONTROL = 0xc0445624;
const QUERY_MENU = 0xc02c5625;
const GET_CONTROL = 0xc008561b;
const SET_CONTROL = 0xc008561c;

const CAPTURE = 1;
const DISCRETE = 1;
/** Asks for the control after that of the number. */
const NEXT = 0x8000_0000;
const FLAG = { disabled: 1, readOnly: 4, inactive: 16 } as const;
const KINDS: ReadonlyMap<number, ControlKind> = new Map([
  [1, "integer"],
  [2, "boolean"],
  [3, "menu"],
  [9, "menu"],
]);
const INTEGER_MENU = 9;
/** A driver that never ends its list is left here. */
const MOST = 256;

type ControlKind = "integer" | "boolean" | "menu";

/** One way in which a camera gives images. */
export interface VideoFormat {
  /** Four letters, "MJPG". */
  readonly format: string;
  readonly description: string;
  /** Undefined where the driver lists none. */
  readonly size: { readonly width: number; readonly height: number } | undefined;
  /** Images a second, where the driver lists them. */
  readonly frameRates: readonly number[];
}

/** A control of a camera. */
export interface VideoControl {
  readonly id: number;
  /** As `v4l2-ctl` calls it, "white_balance_automatic". */
  readonly name: string;
  readonly kind: ControlKind;
  readonly minimum: number;
  readonly maximum: number;
  readonly step: number;
  readonly default: number;
  /** Undefined where it cannot be read. */
  readonly value: number | undefined;
  /** What its values mean, of a menu. */
  readonly menu: ReadonlyMap<number, string>;
  readonly readOnly: boolean;
  /** Another control decides at the moment. */
  readonly inactive: boolean;
}

/** What a camera has to be set. */
export interface VideoControls {
  readonly controls: readonly VideoControl[];
  /** Why there may be more. */
  readonly problem?: string;
}

/** What a camera offers; sizes that are ranges are listed by their smallest and largest. */
export async function listFormats(camera: SlowFile): Promise<VideoFormat[]> {
  const formats: VideoFormat[] = [];
  const fill = (view: DataView) => view.setUint32(4, CAPTURE, true);
  for await (const view of entries(camera, ENUM_FORMAT, 64, fill)) {
    const pixelFormat = view.getUint32(44, true);
    const format = ascii(view, 44, 4).trimEnd();
    const description = ascii(view, 12, 32);
    const found = await sizes(camera, pixelFormat);
    if (found.length === 0) formats.push({ format, description, size: undefined, frameRates: [] });
    for (const [width, height] of found) {
      const frameRates = await rates(camera, pixelFormat, width, height);
      formats.push({ format, description, size: { width, height }, frameRates });
    }
  }
  return formats;
}

async function sizes(camera: SlowFile, pixelFormat: number): Promise<[number, number][]> {
  const found: [number, number][] = [];
  const fill = (view: DataView) => view.setUint32(4, pixelFormat, true);
  for await (const view of entries(camera, ENUM_SIZE, 44, fill)) {
    const at = (offset: number) => view.getUint32(offset, true);
    if (at(8) !== DISCRETE) return [[at(12), at(24)], [at(16), at(28)]];
    found.push([at(12), at(16)]);
  }
  return found;
}

async function rates(
  camera: SlowFile,
  pixelFormat: number,
  width: number,
  height: number,
): Promise<number[]> {
  const found: number[] = [];
  const fill = (view: DataView) => {
    view.setUint32(4, pixelFormat, true);
    view.setUint32(8, width, true);
    view.setUint32(12, height, true);
  };
  for await (const view of entries(camera, ENUM_INTERVAL, 52, fill)) {
    // A range gives its shortest interval.
    const [seconds, parts] = [view.getUint32(20, true), view.getUint32(24, true)];
    if (seconds > 0) found.push(Math.round(parts / seconds * 100) / 100);
    if (view.getUint32(16, true) !== DISCRETE) break;
  }
  return found;
}

/** The entries of a list, by their index, until there is none. */
async function* entries(
  camera: SlowFile,
  request: number,
  bytes: number,
  fill: (view: DataView) => void,
): AsyncGenerator<DataView> {
  for (let index = 0; index < MOST; index++) {
    const entry = new Uint8Array(bytes);
    const view = new DataView(entry.buffer);
    view.setUint32(0, index, true);
    fill(view);
    if (!await asked(camera, request, entry)) return;
    yield view;
  }
}

/**
 * The controls that have a number as their value; those before one that cannot be queried.
 *
 * @param read names of those whose value and menu are read; left out: all
 */
export async function listControls(
  camera: SlowFile,
  read?: ReadonlySet<string>,
): Promise<VideoControls> {
  const controls: VideoControl[] = [];
  for (let id = 0, count = 0; count < MOST; count++) {
    const entry = new Uint8Array(68);
    const view = new DataView(entry.buffer);
    view.setUint32(0, (id | NEXT) >>> 0, true);
    try {
      if (!await asked(camera, QUERY_CONTROL, entry)) break;
    } catch (error) {
      if (!isKernelError(error, "EIO", "EREMOTEIO", "ETIMEDOUT") || controls.length === 0) {
        throw error;
      }
      return {
        controls,
        problem: `a control is broken (${error.message}); it and others are left out`,
      };
    }
    id = view.getUint32(0, true);
    const type = view.getUint32(4, true);
    const kind = KINDS.get(type);
    const flags = view.getUint32(56, true);
    if (kind === undefined || (flags & FLAG.disabled) !== 0) continue;
    const number = (offset: number) => view.getInt32(offset, true);
    const [minimum, maximum] = [number(40), number(44)];
    const name = ascii(view, 8, 32).toLowerCase().replace(/[^a-z0-9]+/g, "_")
      .replace(/^_|_$/g, "");
    const isRead = !read || read.has(name);
    const hasMenu = isRead && kind === "menu";
    controls.push({
      ...{ id, name, kind, minimum, maximum, step: number(48), default: number(52) },
      value: isRead ? await readControl(camera, id) : undefined,
      menu: hasMenu ? await menuOf(camera, { id, minimum, maximum, type }) : new Map(),
      readOnly: (flags & FLAG.readOnly) !== 0,
      inactive: (flags & FLAG.inactive) !== 0,
    });
  }
  return { controls };
}

async function menuOf(
  camera: SlowFile,
  { id, minimum, maximum, type }: { id: number; minimum: number; maximum: number; type: number },
): Promise<Map<number, string>> {
  const menu = new Map<number, string>();
  for (let index = minimum; index <= Math.min(maximum, minimum + MOST); index++) {
    const entry = new Uint8Array(44);
    const view = new DataView(entry.buffer);
    view.setUint32(0, id, true);
    view.setUint32(4, index, true);
    // Not every value between the two is one.
    if (!await asked(camera, QUERY_MENU, entry, "EIO")) continue;
    menu.set(index, type === INTEGER_MENU ? `${view.getBigInt64(8, true)}` : ascii(view, 8, 32));
  }
  return menu;
}

async function readControl(camera: SlowFile, id: number): Promise<number | undefined> {
  const entry = new Uint8Array(8);
  const view = new DataView(entry.buffer);
  view.setUint32(0, id, true);
  try {
    await camera.ioctl(GET_CONTROL, entry);
  } catch {
    return undefined;
  }
  return view.getInt32(4, true);
}

/** @throws {KernelError} */
export async function writeControl(camera: SlowFile, id: number, value: number): Promise<void> {
  const entry = new Uint8Array(8);
  const view = new DataView(entry.buffer);
  view.setUint32(0, id, true);
  view.setInt32(4, value, true);
  await camera.ioctl(SET_CONTROL, entry);
}

/** False where there is no such entry, or no such list. */
async function asked(
  camera: SlowFile,
  request: number,
  entry: Uint8Array<ArrayBuffer>,
  ...alsoNone: string[]
): Promise<boolean> {
  try {
    await camera.ioctl(request, entry);
    return true;
  } catch (error) {
    if (isKernelError(error, "EINVAL", "ENOTTY", ...alsoNone)) return false;
    throw error;
  }
}

function ascii(view: DataView, at: number, length: number): string {
  const bytes = new Uint8Array(view.buffer, at, length);
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
}
