/**
 * Pseudo terminals of Linux, through the C library. That takes six functions, which Deno can call
 * automatically, also out of a compiled program. An addon like node-pty would have to be shipped
 * next to every binary, and would start its programs past `shared/base/process`, which ends them
 * with everything that they started.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Pty, TerminalSize } from "./pty.ts";

const LIBRARY = {
  posix_openpt: { parameters: ["i32"], result: "i32" },
  grantpt: { parameters: ["i32"], result: "i32" },
  unlockpt: { parameters: ["i32"], result: "i32" },
  ptsname_r: { parameters: ["i32", "buffer", "usize"], result: "i32" },
  ioctl: { parameters: ["i32", "usize", "buffer"], result: "i32" },
  read: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  write: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  close: { parameters: ["i32"], result: "i32" },
  // The only one that waits; it does so in a thread of its own.
  poll: { parameters: ["buffer", "usize", "i32"], result: "i32", nonblocking: true },
} as const;

// Of Linux on x86-64 and ARM64: fcntl.h, ioctls.h, poll.h.
const O_RDWR = 0o2;
const O_NOCTTY = 0o400;
const O_NONBLOCK = 0o4000;
const O_CLOEXEC = 0o2000000;
const TIOCSWINSZ = 0x5414;
const POLLIN = 0x1;
const POLLOUT = 0x4;
const POLLERR = 0x8;
const POLLHUP = 0x10;
const POLLNVAL = 0x20;
const GONE = POLLERR | POLLHUP | POLLNVAL;

/** How long a wait continues before it looks whether it is still wanted. Milliseconds. */
const POLL_MS = 200;
const READ_BYTES = 64 * 1024;

/**
 * Opens one.
 *
 * @throws {ConnectError} UNIMPLEMENTED where there are none.
 */
export function openLinuxPty(size: TerminalSize): Pty {
  const library = loadLibrary();
  try {
    return new LinuxPty(library, size);
  } catch (error) {
    library.close();
    throw error;
  }
}

type Library = Deno.DynamicLibrary<typeof LIBRARY>;

function loadLibrary(): Library {
  try {
    if (Deno.build.os === "linux") return Deno.dlopen("libc.so.6", LIBRARY);
  } catch {
    // A Linux without the GNU C library; reported below.
  }
  throw new ConnectError(
    "a shell is not available on this host: it takes Linux with the GNU C library",
    Code.Unimplemented,
  );
}

class LinuxPty implements Pty {
  readonly path: string;
  readonly #library: Library;
  readonly #fd: number;
  readonly #buffer = new Uint8Array(READ_BYTES);
  /** Waits under way: the file must stay open while one looks at it. */
  readonly #waits = new Set<Promise<unknown>>();
  #draining = false;
  #closed = false;

  constructor(library: Library, size: TerminalSize) {
    const { symbols } = this.#library = library;
    this.#fd = symbols.posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    const name = new Uint8Array(64);
    const isOpen = this.#fd >= 0 && symbols.grantpt(this.#fd) === 0 &&
      symbols.unlockpt(this.#fd) === 0 &&
      symbols.ptsname_r(this.#fd, name, BigInt(name.length)) === 0;
    if (!isOpen) {
      if (this.#fd >= 0) symbols.close(this.#fd);
      throw new ConnectError(
        "this host gives no pseudo terminal; see that /dev/pts is mounted and not all are taken",
        Code.ResourceExhausted,
      );
    }
    this.path = new TextDecoder().decode(name.subarray(0, name.indexOf(0)));
    this.resize(size);
  }

  async read(): Promise<Uint8Array | undefined> {
    while (!this.#closed) {
      const state = await this.#wait(POLLIN);
      if (this.#closed) return undefined;
      if (state & POLLIN) {
        const { symbols } = this.#library;
        const length = Number(symbols.read(this.#fd, this.#buffer, BigInt(READ_BYTES)));
        if (length > 0) return this.#buffer.slice(0, length);
      }
      if (state & GONE || (this.#draining && state === 0)) return undefined;
    }
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let rest = bytes; rest.length > 0 && !this.#closed;) {
      const state = await this.#wait(POLLOUT);
      if (this.#closed || state & GONE) return;
      if (!(state & POLLOUT)) continue;
      const { symbols } = this.#library;
      const part = new Uint8Array(rest); // FFI takes no view of a shared buffer
      const written = Number(symbols.write(this.#fd, part, BigInt(part.length)));
      if (written > 0) rest = rest.subarray(written);
    }
  }

  resize({ columns, rows }: TerminalSize): void {
    // struct winsize: rows, columns, and sizes in pixels that nobody uses.
    const size = new Uint16Array([rows, columns, 0, 0]);
    if (!this.#closed) this.#library.symbols.ioctl(this.#fd, BigInt(TIOCSWINSZ), size);
  }

  drain(): void {
    this.#draining = true;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.all(this.#waits);
    this.#library.symbols.close(this.#fd);
    this.#library.close();
  }

  /** What poll(2) says of the file within {@link POLL_MS}; 0 when nothing happened. */
  async #wait(events: number): Promise<number> {
    // struct pollfd: int fd; short events; short revents.
    const entry = new DataView(new ArrayBuffer(8));
    entry.setInt32(0, this.#fd, true);
    entry.setInt16(4, events, true);
    const bytes = new Uint8Array(entry.buffer);
    const wait = this.#library.symbols.poll(bytes, 1n, this.#draining ? 0 : POLL_MS);
    this.#waits.add(wait);
    try {
      return await wait > 0 ? entry.getInt16(6, true) : 0;
    } finally {
      this.#waits.delete(wait);
    }
  }
}
