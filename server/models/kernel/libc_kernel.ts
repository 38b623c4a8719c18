/** The system calls of Linux, through the C library. */
import { Code, ConnectError } from "@connectrpc/connect";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { type Kernel, KernelError, kernelError, type LinePulses, type SlowFile } from "./kernel.ts";
import { ThreadFile } from "./slow_file.ts";
import { ThreadPulses } from "./thread_pulses.ts";

const LIBRARY = {
  open: { parameters: ["buffer", "i32"], result: "i32" },
  close: { parameters: ["i32"], result: "i32" },
  ioctl: { parameters: ["i32", "usize", "buffer"], result: "i32" },
  read: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  write: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  eventfd: { parameters: ["u32", "i32"], result: "i32" },
  __errno_location: { parameters: [], result: "pointer" },
  // The only one that waits; it does so in a thread of its own.
  poll: { parameters: ["buffer", "usize", "i32"], result: "i32", nonblocking: true },
} as const;

const EAGAIN = 11;
const POLLIN = 0x1;
/** O_NONBLOCK and O_CLOEXEC. */
const EVENTFD_FLAGS = 0o4000 | 0o2000000;

/**
 * The host's kernel.
 *
 * @throws {ConnectError} UNIMPLEMENTED where there is none that can be reached.
 */
export function libcKernel(): Kernel {
  try {
    if (Deno.build.os === "linux") return new LibcKernel(Deno.dlopen("libc.so.6", LIBRARY));
  } catch {
    // A Linux without the GNU C library; reported below.
  }
  throw new ConnectError(
    "drivers of hardware are not available on this host: they take Linux with the GNU C library",
    Code.Unimplemented,
  );
}

class LibcKernel implements Kernel {
  constructor(private readonly library: Deno.DynamicLibrary<typeof LIBRARY>) {}

  open(path: string, flags: number): number {
    const name = new TextEncoder().encode(`${path}\0`);
    return this.#checked(`open ${path}`, this.library.symbols.open(name, flags));
  }

  close(fd: number): void {
    this.library.symbols.close(fd);
  }

  ioctl(fd: number, request: number, argument: Uint8Array<ArrayBuffer>): number {
    const call = `ioctl ${request.toString(16)}`;
    return this.#checked(call, this.library.symbols.ioctl(fd, BigInt(request), argument));
  }

  read(fd: number, into: Uint8Array<ArrayBuffer>): number | undefined {
    return this.#transferred("read", this.library.symbols.read(fd, into, BigInt(into.length)));
  }

  write(fd: number, bytes: Uint8Array<ArrayBuffer>): number | undefined {
    return this.#transferred("write", this.library.symbols.write(fd, bytes, BigInt(bytes.length)));
  }

  eventfd(): number {
    return this.#checked("eventfd", this.library.symbols.eventfd(0, EVENTFD_FLAGS));
  }

  async poll(fds: readonly number[], timeoutMs: number): Promise<number[]> {
    // struct pollfd: int fd; short events; short revents.
    const entries = new DataView(new ArrayBuffer(8 * fds.length));
    fds.forEach((fd, index) => {
      entries.setInt32(8 * index, fd, true);
      entries.setInt16(8 * index + 4, POLLIN, true);
    });
    const bytes = new Uint8Array(entries.buffer);
    await this.library.symbols.poll(bytes, BigInt(fds.length), timeoutMs);
    return fds.filter((_, index) => entries.getInt16(8 * index + 6, true) !== 0);
  }

  list(folder: string): string[] {
    try {
      return [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
    } catch {
      return [];
    }
  }

  readText(path: string): string {
    return this.#file(`read ${path}`, () => Deno.readTextFileSync(path).replace(/\n$/, ""));
  }

  writeText(path: string, text: string): void {
    this.#file(`write ${path}`, () => Deno.writeTextFileSync(path, text, { create: false }));
  }

  address(bytes: Uint8Array<ArrayBuffer>): bigint {
    return Deno.UnsafePointer.value(Deno.UnsafePointer.of(bytes));
  }

  slowFile(path: string, flags: number): SlowFile {
    return new ThreadFile(path, flags);
  }

  pulses(): LinePulses {
    return new ThreadPulses();
  }

  #file<T>(call: string, use: () => T): T {
    try {
      return use();
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) throw kernelError(call, "ENOENT");
      if (error instanceof Deno.errors.PermissionDenied) throw kernelError(call, "EACCES");
      const [, errno] = /os error (\d+)/.exec(toError(error).message) ?? [];
      throw errno ? new KernelError(call, Number(errno)) : error;
    }
  }

  #transferred(call: string, result: bigint | number): number | undefined {
    if (Number(result) >= 0) return Number(result);
    const errno = this.#errno();
    if (errno === EAGAIN) return undefined;
    throw new KernelError(call, errno);
  }

  #checked(call: string, result: number): number {
    if (result >= 0) return result;
    throw new KernelError(call, this.#errno());
  }

  #errno(): number {
    const place = this.library.symbols.__errno_location();
    return place === null ? 0 : new Deno.UnsafePointerView(place).getInt32();
  }
}
