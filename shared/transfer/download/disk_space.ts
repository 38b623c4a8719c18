/** Whether there is room on the disk. */
import { statfs } from "node:fs/promises";
import { TransferError } from "./transfer_error.ts";

/** So much stays free for everything else: logs, databases, the system. Bytes. */
const DISK_FLOOR_BYTES = 10_000_000;

export class DiskSpace {
  /**
   * @param floorBytes stays free. Default {@link DISK_FLOOR_BYTES}.
   * @param freeBytes of the file system that holds a path. Default: queries the system.
   */
  constructor(
    readonly floorBytes: number = DISK_FLOOR_BYTES,
    private readonly freeBytes: (path: string) => Promise<number> = freeBytesOf,
  ) {}

  /** @throws {TransferError} when fewer than `bytes` and the floor are free; says what to do. */
  async require(bytes: number, path: string, what: string): Promise<void> {
    const free = await this.freeBytes(path);
    if (free >= bytes + this.floorBytes) return;
    throw new TransferError(
      "no-room",
      `there is no room for ${what}: ${megabytes(bytes)} are needed at ${path}, ` +
        `${megabytes(free)} are free and ${megabytes(this.floorBytes)} of them are kept free; ` +
        "free some space",
    );
  }
}

async function freeBytesOf(path: string): Promise<number> {
  const { bsize, bavail } = await statfs(path);
  return bsize * bavail;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
