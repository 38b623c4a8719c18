import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Ports below the range that systems hand out automatically (from 32768 on Linux, 49152 elsewhere).
 * A test that stops a program and starts it again on its port would otherwise find it taken by any
 * connection that was opened meanwhile.
 */
const FROM = 12_000;
const SHARE = 500;
const SHARES = 40;
/** The same for all tests of a host, wherever else they have temporary files. */
const FOLDER = Deno.build.os === "windows" ? tmpdir() : "/tmp";

/**
 * The ports that one process hands out: no other process that runs tests takes one of them between
 * the moment when it is found free and that when a program listens there.
 */
export class PortShare implements Disposable {
  readonly #first: number;
  #next: number;

  private constructor(private readonly lock: Deno.FsFile | undefined, share: number) {
    this.#first = FROM + share * SHARE;
    this.#next = Math.floor(Math.random() * SHARE);
  }

  static take(): PortShare {
    const begin = Math.floor(Math.random() * SHARES);
    for (let n = 0; n < SHARES; n++) {
      const share = (begin + n) % SHARES;
      const lock = lockOf(share);
      if (lock) return new PortShare(lock, share);
    }
    // More processes than shares: two of them have one.
    return new PortShare(undefined, begin);
  }

  /** A TCP port of 127.0.0.1 that is free now, and so are the `count - 1` after it. */
  free(count: number): number {
    for (let n = 0; n < SHARE; n++) {
      if (this.#next + count > SHARE) this.#next = 0;
      const port = this.#first + this.#next;
      this.#next += count;
      if (Array.from({ length: count }, (_, i) => port + i).every(isFree)) return port;
    }
    throw new Error(`none of the ports from ${this.#first} to ${this.#first + SHARE} is free`);
  }

  [Symbol.dispose](): void {
    this.lock?.close();
  }
}

/** Of this process; it ends with it. */
const ours: { share?: PortShare } = {};

/** A TCP port of 127.0.0.1 that is free now, and so are the `count - 1` after it. */
export function freePort(count = 1): number {
  ours.share ??= PortShare.take();
  return ours.share.free(count);
}

/** @returns the open file while this process has the share; undefined: another has it. */
function lockOf(share: number): Deno.FsFile | undefined {
  const path = join(FOLDER, `machine-test-ports-${share}`);
  try {
    const file = Deno.openSync(path, { write: true, create: true });
    if (file.tryLockSync(true)) return file;
    file.close();
  } catch {
    // Another user's.
  }
  return undefined;
}

function isFree(port: number): boolean {
  try {
    Deno.listen({ hostname: "127.0.0.1", port }).close();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) return false;
    throw error;
  }
}
