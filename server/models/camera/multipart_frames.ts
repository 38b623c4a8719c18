/** Most bytes of the head of a part. */
const MOST_HEAD = 1_024;

/** A stream of frames is not what it has to be. */
class BrokenStreamError extends Error {
  override readonly name = "BrokenStreamError";
}

/**
 * The frames of a multipart stream whose parts have their length, as ffmpeg's `mpjpeg` writes it.
 *
 * @param most bytes of a frame.
 * @throws {BrokenStreamError}
 */
export async function* multipartFrames(
  from: AsyncIterable<Uint8Array>,
  most: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let rest = new Uint8Array();
  let missing = 0;
  const pieces: Uint8Array[] = [];
  for await (const bytes of from) {
    let left = bytes;
    while (left.length > 0) {
      if (missing > 0) {
        const taken = left.subarray(0, missing);
        pieces.push(taken);
        missing -= taken.length;
        left = left.subarray(taken.length);
        if (missing === 0) yield joined(pieces.splice(0));
        continue;
      }
      const head = joined([rest, left]);
      const end = endOfHead(head);
      if (end < 0) {
        if (head.length > MOST_HEAD) throw new BrokenStreamError("a frame has no head");
        rest = head;
        break;
      }
      missing = lengthIn(head.subarray(0, end), most);
      rest = new Uint8Array();
      left = head.subarray(end);
    }
  }
}

/** Behind the empty line; -1 while there is none. */
function endOfHead(bytes: Uint8Array): number {
  for (let at = 0; at + 3 < bytes.length; at++) {
    if (bytes[at] === 13 && bytes[at + 1] === 10 && bytes[at + 2] === 13 && bytes[at + 3] === 10) {
      return at + 4;
    }
  }
  return -1;
}

function lengthIn(head: Uint8Array, most: number): number {
  const text = new TextDecoder().decode(head);
  const length = Number(/content-length:\s*(\d+)/i.exec(text)?.[1] ?? "0");
  if (length < 1) throw new BrokenStreamError("a frame has no length");
  if (length > most) {
    throw new BrokenStreamError(`a frame has ${length} bytes; ${most} are taken`);
  }
  return length;
}

function joined(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
