/** Brings capture files in order that a killed writer left behind. */
import { toFileError } from "../base/files/fs_error.ts";
import { completeFile } from "./capture_writer.ts";
import { decodeCapture } from "./decode.ts";

/** What became of a file. */
export interface Repair {
  /** `removed`: it held no reading. */
  readonly outcome: "completed" | "removed";
  readonly readings: number;
  /** Bytes of a reading that was not whole; cut off. */
  readonly tornBytes: number;
}

/**
 * Cuts off a torn end and gives the file its last name; removes it when it holds no reading.
 *
 * @param path of a file that ends in `.prog` and that nobody writes any more
 * @throws {FileError}
 */
export async function repairCapture(path: string): Promise<Repair> {
  try {
    const bytes = await Deno.readFile(path);
    const { readings, wholeBytes } = decodeCapture(bytes);
    const tornBytes = bytes.length - wholeBytes;
    if (readings.length === 0) {
      await Deno.remove(path);
      return { outcome: "removed", readings: 0, tornBytes };
    }
    {
      using file = await Deno.open(path, { write: true });
      if (tornBytes > 0) await file.truncate(wholeBytes);
      await file.sync();
    }
    await completeFile(path);
    return { outcome: "completed", readings: readings.length, tornBytes };
  } catch (error) {
    throw toFileError(error, "repair", path);
  }
}
