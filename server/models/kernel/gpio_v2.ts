/** The structures of version 2 of the GPIO character device, `linux/gpio.h`; little endian. */
import type { Kernel } from "./kernel.ts";

export const GET_CHIPINFO = 0x8044b401;
export const GET_LINEINFO = 0xc100b405;
export const GET_LINE = 0xc250b407;
export const SET_CONFIG = 0xc110b40d;
export const GET_VALUES = 0xc010b40e;
export const SET_VALUES = 0xc010b40f;

export const CHIPINFO_BYTES = 68;
const LINEINFO_BYTES = 256;
const LINE_REQUEST_BYTES = 592;
export const EVENT_BYTES = 48;
/** Of a line's configuration within a request for the line. */
export const CONFIG_AT = 288;
const CONFIG_BYTES = 272;
/** Of fields within a request for a line. */
export const REQUEST = { consumer: 256, lines: 560, events: 564, fd: 588 } as const;

export const FLAG = {
  used: 1n << 0n,
  activeLow: 1n << 1n,
  input: 1n << 2n,
  output: 1n << 3n,
  rising: 1n << 4n,
  falling: 1n << 5n,
  openDrain: 1n << 6n,
  openSource: 1n << 7n,
  pullUp: 1n << 8n,
  pullDown: 1n << 9n,
  biasDisabled: 1n << 10n,
} as const;

const ATTRIBUTE_VALUES = 2;
const ATTRIBUTE_DEBOUNCE = 3;
const RISING_EDGE = 1;
/** Edges that the kernel keeps of a line until they are read; it takes at most 16 × 64. */
const EVENT_BUFFER = 1024;

/** A GPIO chip. */
export interface ChipInfo {
  readonly name: string;
  /** "pinctrl-bcm2711" */
  readonly label: string;
  readonly lines: number;
}

/** A line of a chip. */
export interface LineInfo {
  /** "GPIO17"; empty when nobody named it. */
  readonly name: string;
  /** Who has it; empty when nobody does. */
  readonly consumer: string;
  readonly used: boolean;
}

/** How a line is used. */
export interface LineConfig {
  readonly direction: "input" | "output";
  /** Level to begin with, of an output. Default low. */
  readonly high?: boolean;
  /** Report both edges, of an input. */
  readonly edges?: boolean;
  readonly bias?: "pull_up" | "pull_down" | "disabled" | undefined;
  /** Levels that last shorter are no edges. Microseconds. */
  readonly debounceUs?: number | undefined;
}

/** A change of a line's level. */
export interface Edge {
  readonly rising: boolean;
  /** Nanoseconds of the kernel's monotonic clock. */
  readonly timeNs: bigint;
  /** Counts the edges of the line; gaps are edges that were lost. */
  readonly sequence: number;
}

/** @throws {KernelError} */
export function chipInfo(kernel: Kernel, fd: number): ChipInfo {
  const bytes = new Uint8Array(CHIPINFO_BYTES);
  kernel.ioctl(fd, GET_CHIPINFO, bytes);
  return {
    name: textAt(bytes, 0),
    label: textAt(bytes, 32),
    lines: new DataView(bytes.buffer).getUint32(64, true),
  };
}

/** @throws {KernelError} */
export function lineInfo(kernel: Kernel, fd: number, line: number): LineInfo {
  const bytes = new Uint8Array(LINEINFO_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(64, line, true);
  kernel.ioctl(fd, GET_LINEINFO, bytes);
  return {
    name: textAt(bytes, 0),
    consumer: textAt(bytes, 32),
    used: (view.getBigUint64(72, true) & FLAG.used) !== 0n,
  };
}

/**
 * Takes a line; nobody else gets it until the file is closed.
 *
 * @returns the file of the line.
 * @throws {KernelError} EBUSY when somebody has it.
 */
export function requestLine(
  kernel: Kernel,
  chipFd: number,
  line: number,
  config: LineConfig,
): number {
  const bytes = new Uint8Array(LINE_REQUEST_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, line, true);
  bytes.set(new TextEncoder().encode("machine-server"), REQUEST.consumer);
  bytes.set(encodeConfig(config), CONFIG_AT);
  view.setUint32(REQUEST.lines, 1, true);
  if (config.edges) view.setUint32(REQUEST.events, EVENT_BUFFER, true);
  kernel.ioctl(chipFd, GET_LINE, bytes);
  return view.getInt32(REQUEST.fd, true);
}

/** @throws {KernelError} */
export function configureLine(kernel: Kernel, lineFd: number, config: LineConfig): void {
  kernel.ioctl(lineFd, SET_CONFIG, encodeConfig(config));
}

/** @throws {KernelError} */
export function getLine(kernel: Kernel, lineFd: number): boolean {
  const values = new BigUint64Array([0n, 1n]);
  kernel.ioctl(lineFd, GET_VALUES, new Uint8Array(values.buffer));
  return (values[0]! & 1n) === 1n;
}

/** @throws {KernelError} */
export function setLine(kernel: Kernel, lineFd: number, high: boolean): void {
  const values = new BigUint64Array([high ? 1n : 0n, 1n]);
  kernel.ioctl(lineFd, SET_VALUES, new Uint8Array(values.buffer));
}

/** The edges in what was read of a line's file. */
export function decodeEdges(bytes: Uint8Array): Edge[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const edges: Edge[] = [];
  for (let at = 0; at + EVENT_BYTES <= bytes.length; at += EVENT_BYTES) {
    edges.push({
      timeNs: view.getBigUint64(at, true),
      rising: view.getUint32(at + 8, true) === RISING_EDGE,
      sequence: view.getUint32(at + 20, true),
    });
  }
  return edges;
}

function encodeConfig(config: LineConfig): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(CONFIG_BYTES);
  const view = new DataView(bytes.buffer);
  let flags = config.direction === "output" ? FLAG.output : FLAG.input;
  if (config.edges) flags |= FLAG.rising | FLAG.falling;
  if (config.bias === "pull_up") flags |= FLAG.pullUp;
  if (config.bias === "pull_down") flags |= FLAG.pullDown;
  if (config.bias === "disabled") flags |= FLAG.biasDisabled;
  view.setBigUint64(0, flags, true);
  let attributes = 0;
  const add = (id: number, put: (at: number) => void) => {
    const at = 32 + 24 * attributes++;
    view.setUint32(at, id, true);
    put(at + 8);
    view.setBigUint64(at + 16, 1n, true);
  };
  if (config.direction === "output") {
    add(ATTRIBUTE_VALUES, (at) => view.setBigUint64(at, config.high ? 1n : 0n, true));
  }
  if (config.debounceUs) {
    add(ATTRIBUTE_DEBOUNCE, (at) => view.setUint32(at, config.debounceUs!, true));
  }
  view.setUint32(8, attributes, true);
  return bytes;
}

/** Text of at most 32 bytes that ends at a zero. */
export function textAt(bytes: Uint8Array, at: number): string {
  const field = bytes.subarray(at, at + 32);
  const end = field.indexOf(0);
  return new TextDecoder().decode(end < 0 ? field : field.subarray(0, end));
}
