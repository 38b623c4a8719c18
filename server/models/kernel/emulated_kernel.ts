/**
 * A kernel without hardware: one GPIO chip (version 2 of its character device) whose lines are
 * wired to whatever is simulated, and files of /sys that keep what is written to them.
 */
import type { Clock } from "../../../shared/base/time/clock.ts";
import {
  CHIPINFO_BYTES,
  CONFIG_AT,
  EVENT_BYTES,
  FLAG,
  GET_CHIPINFO,
  GET_LINE,
  GET_LINEINFO,
  GET_VALUES,
  REQUEST,
  SET_CONFIG,
  SET_VALUES,
  textAt,
} from "./gpio_v2.ts";
import { type Kernel, kernelError, type LinePulses, type SlowFile } from "./kernel.ts";

/** Edges that are kept of a line until they are read; more are dropped, oldest first. */
const MOST_EVENTS = 1024;

interface Line {
  level: boolean;
  consumer: string;
  flags: bigint;
  /** Part of the time that it is high; undefined unless it is pulsed. */
  duty: number | undefined;
  fd: number | undefined;
  sequence: number;
  events: Uint8Array[];
}

type File =
  | { readonly kind: "chip" }
  | { readonly kind: "line"; readonly line: Line }
  | { readonly kind: "event"; count: number };

export interface EmulatedKernelOptions {
  readonly clock: Clock;
  /** Lines of `/dev/gpiochip0`. */
  readonly lines: number;
  /** Files of /sys by path. Default: none. */
  readonly files?: Readonly<Record<string, string>>;
}

/** See above. */
export class EmulatedKernel implements Kernel {
  /** Content of the files of /sys. */
  readonly files: Map<string, string>;
  readonly #lines: Line[];
  readonly #open = new Map<number, File>();
  #lastEdgeNs = -1n;
  readonly #waiting = new Set<() => void>();
  /** Notified of what the server does with an output: the part of the time that it is high. */
  #outputs: (line: number, duty: number) => void = () => {};

  constructor(private readonly options: EmulatedKernelOptions) {
    this.files = new Map(Object.entries(options.files ?? {}));
    this.#lines = Array.from({ length: options.lines }, () => ({
      level: false,
      consumer: "",
      flags: FLAG.input,
      duty: undefined,
      fd: undefined,
      sequence: 0,
      events: [],
    }));
  }

  /** Calls back when an output changes. */
  onOutput(changed: (line: number, duty: number) => void): void {
    this.#outputs = changed;
  }

  /** Takes a line for somebody else, as another program would. */
  take(line: number, consumer: string): void {
    this.#lines[line]!.consumer = consumer;
  }

  /** Part of the time that a line is high. */
  duty(line: number): number {
    const { duty, level } = this.#lines[line]!;
    return duty ?? (level ? 1 : 0);
  }

  /**
   * Sets the level of an input from outside.
   *
   * @param timeNs when; default now. Each edge is later than the one before.
   */
  drive(index: number, level: boolean, timeNs = this.nowNs()): void {
    const line = this.#lines[index]!;
    if (line.level === level) return;
    line.level = level;
    const wanted = level ? FLAG.rising : FLAG.falling;
    if (line.fd === undefined || (line.flags & wanted) === 0n) return;
    const event = new Uint8Array(EVENT_BYTES);
    const view = new DataView(event.buffer);
    this.#lastEdgeNs = timeNs > this.#lastEdgeNs ? timeNs : this.#lastEdgeNs + 1n;
    view.setBigUint64(0, this.#lastEdgeNs, true);
    view.setUint32(8, level ? 1 : 2, true);
    view.setUint32(12, index, true);
    view.setUint32(20, ++line.sequence, true);
    if (line.events.push(event) > MOST_EVENTS) line.events.shift();
    this.#look();
  }

  /** Nanoseconds of the monotonic clock. */
  nowNs(): bigint {
    return BigInt(Math.round(this.options.clock.monotonicMs() * 1e6));
  }

  open(path: string, _flags = 0): number {
    if (path !== "/dev/gpiochip0") throw kernelError(`open ${path}`, "ENOENT");
    return this.#add({ kind: "chip" });
  }

  close(fd: number): void {
    const file = this.#open.get(fd);
    this.#open.delete(fd);
    if (file?.kind !== "line") return;
    Object.assign(file.line, { fd: undefined, consumer: "", events: [], duty: undefined });
  }

  ioctl(fd: number, request: number, argument: Uint8Array<ArrayBuffer>): number {
    const file = this.#open.get(fd);
    const view = new DataView(argument.buffer, argument.byteOffset, argument.byteLength);
    const failed = (code: string) => kernelError(`ioctl ${request.toString(16)}`, code);
    if (file?.kind === "chip") {
      if (request === GET_CHIPINFO) {
        argument.fill(0, 0, CHIPINFO_BYTES);
        putText(argument, 0, "gpiochip0");
        putText(argument, 32, "emulated");
        view.setUint32(64, this.#lines.length, true);
        return 0;
      }
      const line = this.#lines[view.getUint32(request === GET_LINEINFO ? 64 : 0, true)];
      if (!line) throw failed("EINVAL");
      if (request === GET_LINEINFO) {
        putText(argument, 32, line.consumer);
        view.setBigUint64(72, line.flags | (line.consumer ? FLAG.used : 0n), true);
        return 0;
      }
      if (request !== GET_LINE) throw failed("ENOTTY");
      if (line.consumer) throw failed("EBUSY");
      line.consumer = textAt(argument, REQUEST.consumer) || "?";
      line.fd = this.#add({ kind: "line", line });
      line.sequence = 0;
      this.#configure(line, new DataView(argument.buffer, argument.byteOffset + CONFIG_AT));
      view.setInt32(REQUEST.fd, line.fd, true);
      return 0;
    }
    if (file?.kind !== "line") throw failed("EBADF");
    if (request === SET_CONFIG) this.#configure(file.line, view);
    else if (request === GET_VALUES) view.setBigUint64(0, file.line.level ? 1n : 0n, true);
    else if (request === SET_VALUES) {
      if ((file.line.flags & FLAG.output) === 0n) throw failed("EPERM");
      this.#output(file.line, (view.getBigUint64(0, true) & 1n) === 1n);
    } else throw failed("ENOTTY");
    return 0;
  }

  read(fd: number, into: Uint8Array): number | undefined {
    const file = this.#open.get(fd);
    if (file?.kind === "event") {
      if (file.count === 0) return undefined;
      file.count = 0;
      return 8;
    }
    if (file?.kind !== "line") throw kernelError("read", "EBADF");
    const events = file.line.events.splice(0, Math.floor(into.length / EVENT_BYTES));
    events.forEach((event, index) => into.set(event, index * EVENT_BYTES));
    return events.length > 0 ? events.length * EVENT_BYTES : undefined;
  }

  write(fd: number, bytes: Uint8Array): number {
    const file = this.#open.get(fd);
    if (file?.kind !== "event") throw kernelError("write", "EBADF");
    file.count++;
    this.#look();
    return bytes.length;
  }

  eventfd(): number {
    return this.#add({ kind: "event", count: 0 });
  }

  async poll(fds: readonly number[], timeoutMs: number): Promise<number[]> {
    const ready = () =>
      fds.filter((fd) => {
        const file = this.#open.get(fd);
        if (file?.kind === "event") return file.count > 0;
        return file?.kind !== "line" || file.line.events.length > 0;
      });
    if (ready().length === 0) {
      await new Promise<void>((resolve) => {
        const done = () => {
          timer.cancel();
          this.#waiting.delete(look);
          resolve();
        };
        const look = () => ready().length > 0 && done();
        const timer = this.options.clock.setTimer(timeoutMs, done);
        this.#waiting.add(look);
      });
    }
    return ready();
  }

  list(folder: string): string[] {
    if (folder === "/dev") return ["gpiochip0"];
    const start = `${folder}/`;
    const inside = [...this.files.keys()].filter((path) => path.startsWith(start));
    return [...new Set(inside.map((path) => path.slice(start.length).split("/")[0]!))].sort();
  }

  readText(path: string): string {
    const text = this.files.get(path);
    if (text === undefined) throw kernelError(`read ${path}`, "ENOENT");
    return text;
  }

  writeText(path: string, text: string): void {
    if (!this.files.has(path)) throw kernelError(`write ${path}`, "ENOENT");
    this.files.set(path, text);
  }

  address(): bigint {
    return 0n;
  }

  slowFile(path: string, flags: number): SlowFile {
    let fd: number | undefined;
    return {
      ioctl: async (request, argument) => {
        await Promise.resolve();
        fd ??= this.open(path, flags);
        return this.ioctl(fd, request, argument);
      },
      close: () => {
        if (fd !== undefined) this.close(fd);
        return Promise.resolve();
      },
    };
  }

  pulses(): LinePulses {
    const lineOf = (fd: number) => {
      const file = this.#open.get(fd);
      return file?.kind === "line" ? file.line : undefined;
    };
    return {
      pulse: (fd, periodUs, highUs) => {
        const line = lineOf(fd);
        if (!line) return;
        line.duty = highUs / periodUs;
        this.#outputs(this.#lines.indexOf(line), line.duty);
      },
      end: (fd) => {
        const line = lineOf(fd);
        if (line) line.duty = undefined;
        return Promise.resolve();
      },
      close: () => Promise.resolve(),
    };
  }

  #configure(line: Line, config: DataView): void {
    line.flags = config.getBigUint64(0, true);
    if ((line.flags & FLAG.output) === 0n) return;
    let high = false;
    for (let index = 0; index < config.getUint32(8, true); index++) {
      const at = 32 + 24 * index;
      if (config.getUint32(at, true) === 2) high = (config.getBigUint64(at + 8, true) & 1n) === 1n;
    }
    this.#output(line, high);
  }

  #output(line: Line, level: boolean): void {
    line.level = level;
    line.duty = undefined;
    this.#outputs(this.#lines.indexOf(line), level ? 1 : 0);
  }

  #add(file: File): number {
    let fd = 3;
    while (this.#open.has(fd)) fd++;
    this.#open.set(fd, file);
    return fd;
  }

  #look(): void {
    for (const look of [...this.#waiting]) look();
  }
}

function putText(bytes: Uint8Array, at: number, text: string): void {
  bytes.set(new TextEncoder().encode(text).subarray(0, 31), at);
}
