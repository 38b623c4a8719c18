import { basename } from "node:path";
import { toFileError } from "../../base/files/fs_error.ts";
import { progressBar, type ProgressPlace } from "../output/progress.ts";

const PIECE_BYTES = 256 * 1024;
/** Longer than any upload; without it a call exceeds its deadline after ten minutes. */
const LONGEST_UPLOAD_MS = 12 * 60 * 60_000;

/** How a file travels over a client stream. */
export interface FileUpload<First, Piece, Answer> {
  /** The message that says what follows. */
  readonly first: First;
  readonly piece: (bytes: Uint8Array<ArrayBuffer>) => Piece;
  readonly call: (
    messages: AsyncIterable<First | Piece>,
    options: { readonly timeoutMs: number },
  ) => Promise<Answer>;
  /** What the file is, for errors: `archive`. */
  readonly what: string;
}

/**
 * Sends a file in pieces, and shows how far it is to who looks at a terminal.
 *
 * @throws {FileError} for a file that cannot be read; {ConnectError}
 */
export async function sendFile<First, Piece, Answer>(
  path: string,
  { first, piece, call, what }: FileUpload<First, Piece, Answer>,
  place: ProgressPlace,
): Promise<Answer> {
  const { size } = await Deno.stat(path).catch((error) => {
    throw toFileError(error, `read the ${what}`, path);
  });
  const progress = progressBar(place, `upload ${basename(path)}`, size);
  let unreadable: unknown;
  async function* messages() {
    yield first;
    try {
      using file = await Deno.open(path, { read: true });
      for (;;) {
        const buffer = new Uint8Array(PIECE_BYTES);
        const count = await file.read(buffer);
        if (count === null) return;
        yield piece(buffer.subarray(0, count));
        progress.add(count);
      }
    } catch (error) {
      unreadable = error;
      throw error;
    }
  }
  try {
    return await call(messages(), { timeoutMs: LONGEST_UPLOAD_MS });
  } catch (error) {
    throw unreadable === undefined ? error : toFileError(unreadable, `read the ${what}`, path);
  } finally {
    progress.end();
  }
}
