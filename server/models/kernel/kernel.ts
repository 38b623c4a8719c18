/**
 * The system calls that drivers of hardware need, as a seam: `libc_kernel.ts` makes them,
 * `emulated_kernel.ts` answers them without hardware.
 */

/**
 * Files by number, as the kernel gives them out. All calls but `poll` hold the whole server up until
 * they return: what may take long, as devices at USB do, goes by {@link Kernel.slowFile}.
 */
export interface Kernel {
  /**
   * @param flags `O_…`
   * @throws {KernelError}
   */
  open(path: string, flags: number): number;
  close(fd: number): void;
  /**
   * @param argument what the call reads and writes.
   * @throws {KernelError}
   */
  ioctl(fd: number, request: number, argument: Uint8Array<ArrayBuffer>): number;
  /**
   * @returns number of bytes, 0 at the end; undefined when there is nothing now.
   * @throws {KernelError}
   */
  read(fd: number, into: Uint8Array<ArrayBuffer>): number | undefined;
  /**
   * @returns number of bytes; undefined when nothing fits now.
   * @throws {KernelError}
   */
  write(fd: number, bytes: Uint8Array<ArrayBuffer>): number | undefined;
  /** A file that becomes readable when 8 bytes (a number above 0) are written to it. */
  eventfd(): number;
  /**
   * Waits until one of the files can be read, is broken, or the deadline is exceeded.
   *
   * @returns those that are readable or broken.
   */
  poll(fds: readonly number[], timeoutMs: number): Promise<number[]>;
  /** Files in a folder, without their path; none where there is no such folder. */
  list(folder: string): string[];
  /**
   * Content of a small text file of /sys, without the line break at its end.
   *
   * @throws {KernelError}
   */
  readText(path: string): string;
  /** @throws {KernelError} */
  writeText(path: string, text: string): void;
  /**
   * Address of bytes, for structures with pointers. It is good as long as the bytes are referenced.
   */
  address(bytes: Uint8Array<ArrayBuffer>): bigint;
  /**
   * Opens a file on a thread of its own, on which its calls are made.
   *
   * @param flags `O_…`
   */
  slowFile(path: string, flags: number): SlowFile;
  /** Switches lines on and off on a thread of their own; see {@link LinePulses}. */
  pulses(): LinePulses;
}

/** A file whose calls may take seconds. They are made one after the other. */
export interface SlowFile {
  /**
   * @param argument what the call reads and writes.
   * @throws {KernelError} of opening the file, or of this call.
   */
  ioctl(request: number, argument: Uint8Array<ArrayBuffer>): Promise<number>;
  /** Takes no more calls; resolves when those that were made are over and the file is closed. */
  close(): Promise<void>;
}

/** Pulses on lines that were requested as outputs. */
export interface LinePulses {
  /**
   * Pulses a line until it is called again, or {@link LinePulses.end} for that line.
   *
   * @param fd of the requested line.
   * @param highUs microseconds of a period that it is high, more than 0, less than the period.
   */
  pulse(fd: number, periodUs: number, highUs: number): void;
  /** Leaves the line alone; its level is that of the moment. Resolves when that is certain. */
  end(fd: number): Promise<void>;
  close(): Promise<void>;
}

// Of Linux on x86-64 and ARM64: fcntl.h.
export const O_RDONLY = 0;
export const O_RDWR = 0o2;
export const O_NOCTTY = 0o400;
export const O_NONBLOCK = 0o4000;
export const O_CLOEXEC = 0o2000000;

/** Names of error numbers that drivers distinguish; asm-generic/errno.h. */
const NAMES: ReadonlyMap<number, string> = new Map([
  [1, "EPERM"],
  [2, "ENOENT"],
  [5, "EIO"],
  [6, "ENXIO"],
  [9, "EBADF"],
  [11, "EAGAIN"],
  [13, "EACCES"],
  [16, "EBUSY"],
  [19, "ENODEV"],
  [22, "EINVAL"],
  [25, "ENOTTY"],
  [110, "ETIMEDOUT"],
  [121, "EREMOTEIO"],
]);

/** A system call failed. */
export class KernelError extends Error {
  override readonly name = "KernelError";
  /** "EBUSY"; `errno 71` for those without a name here. */
  readonly code: string;
  /** @param call "open /dev/gpiochip0" */
  constructor(readonly call: string, readonly errno: number) {
    const code = NAMES.get(errno) ?? `errno ${errno}`;
    super(`${call}: ${code}`);
    this.code = code;
  }
}

/** An error of that name. */
export function kernelError(call: string, code: string): KernelError {
  const errno = [...NAMES].find(([, name]) => name === code)?.[0] ?? 5;
  return new KernelError(call, errno);
}

/** True for an error of one of these names. */
export function isKernelError(error: unknown, ...codes: string[]): error is KernelError {
  return error instanceof KernelError && codes.includes(error.code);
}
