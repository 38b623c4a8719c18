import {
  create,
  type DescMessage,
  type DescMethodClientStreaming,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";
import { endStreamFromJson } from "@connectrpc/connect/protocol-connect";

/** Contents of one message of an upload; the cloud takes up to 32 MiB. */
export const PIECE_BYTES = 1024 * 1024;
/** In front of each message: flags, and its length. */
const HEAD_BYTES = 5;
const END_FLAG = 0b10;

/**
 * The body of an upload as the Connect protocol has it: a message that says what follows, then the
 * file in pieces. The file is not read here: the browser reads it while it sends.
 *
 * @param field of the request that holds contents, by its number
 */
export function uploadBody<I extends DescMessage>(
  method: DescMethodClientStreaming<I, DescMessage>,
  first: MessageInitShape<I>,
  field: number,
  file: Blob,
): Blob {
  const info = toBinary(method.input, create(method.input, first));
  const parts: BlobPart[] = [head(info.length), new Uint8Array(info)];
  for (let at = 0; at < file.size; at += PIECE_BYTES) {
    const piece = file.slice(at, at + PIECE_BYTES);
    const tag = new BinaryWriter().tag(field, WireType.LengthDelimited).uint32(piece.size).finish();
    parts.push(head(tag.length + piece.size), new Uint8Array(tag), piece);
  }
  return new Blob(parts);
}

/** The answer to an upload. Throws what the cloud refused it with, and UNAVAILABLE for a cut one. */
export function uploadAnswer<O extends DescMessage>(
  method: DescMethodClientStreaming<DescMessage, O>,
  bytes: Uint8Array,
): MessageShape<O> {
  let answer: MessageShape<O> | undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at + HEAD_BYTES <= bytes.length;) {
    const length = view.getUint32(at + 1);
    const message = bytes.subarray(at + HEAD_BYTES, at + HEAD_BYTES + length);
    if (message.length < length) break;
    if ((view.getUint8(at) & END_FLAG) !== 0) {
      const { error } = endStreamFromJson(message);
      if (error) throw error;
      if (answer) return answer;
      break;
    }
    answer = fromBinary(method.output, message);
    at += HEAD_BYTES + length;
  }
  throw new ConnectError("the answer was cut", Code.Unavailable);
}

function head(length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(HEAD_BYTES);
  new DataView(bytes.buffer).setUint32(1, length);
  return bytes;
}
