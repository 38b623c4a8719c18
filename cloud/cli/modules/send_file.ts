import { toFileError } from "../../../shared/base/files/fs_error.ts";

const PIECE_BYTES = 256 * 1024;
/** Longer than any upload; without it a call is ended after ten minutes. */
const LONGEST_UPLOAD_MS = 12 * 60 * 60_000;

/** How a file travels over a client stream. */
export interface FileUpload<First, Piece> {
  /** The message that says what follows. */
  readonly first: First;
  readonly piece: (bytes: Uint8Array<ArrayBuffer>) => Piece;
  readonly call: (
    messages: AsyncIterable<First | Piece>,
    options: { readonly timeoutMs: number },
  ) => Promise<unknown>;
}

/** Sends an archive in pieces. @throws {FileError} for one that cannot be read; {ConnectError} */
export async function sendFile<First, Piece>(
  path: string,
  { first, piece, call }: FileUpload<First, Piece>,
): Promise<void> {
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
      }
    } catch (error) {
      unreadable = error;
      throw error;
    }
  }
  try {
    await call(messages(), { timeoutMs: LONGEST_UPLOAD_MS });
  } catch (error) {
    throw unreadable === undefined ? error : toFileError(unreadable, "read the archive", path);
  }
}
