/** Bodies of calls over HTTP/1.1, whose values are counted before the library decodes them. */
import type { DescMessage } from "@bufbuild/protobuf";
import { MessageCutter } from "../client/grpc_frames.ts";
import { checkJsonValues, checkValues } from "../message_values.ts";

export interface CountedBodyOptions {
  /** What the messages are. */
  readonly schema: DescMessage;
  /** Of the request. */
  readonly contentType: string;
}

/**
 * The pieces of a body, as they come; a message's last piece only when it has not too many values.
 * Messages over HTTP/1.1 are never compressed.
 *
 * @throws {ConnectError} RESOURCE_EXHAUSTED
 */
export async function* countedBody(
  body: AsyncIterable<Uint8Array>,
  { schema, contentType }: CountedBodyOptions,
): AsyncGenerator<Uint8Array> {
  const check = (message: Uint8Array) =>
    /json/i.test(contentType) ? checkJsonValues(message) : checkValues(schema, message);
  if (!/^application\/(grpc-web|connect\+)/i.test(contentType)) {
    // One message without a frame: it ends with the body.
    const pieces: Uint8Array[] = [];
    for await (const piece of body) {
      pieces.push(piece);
      yield piece;
    }
    check(pieces.length === 1 ? pieces[0]! : joined(pieces));
    return;
  }
  const cutter = new MessageCutter({ what: "request" });
  for await (const piece of body) {
    const messages: Uint8Array[] = [];
    cutter.push(piece, messages);
    messages.forEach(check);
    yield piece;
  }
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}
