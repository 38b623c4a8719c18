/** Requests whose messages are compressed. Answers never are. */
import { Code, ConnectError } from "@connectrpc/connect";
import { gunzipSync, inflateSync } from "node:zlib";
import type { Decompress } from "./lean_wire.ts";
import { MAX_MESSAGE_BYTES } from "./limits.ts";

/** Names in `grpc-encoding`. */
const ENCODINGS: Readonly<Record<string, typeof gunzipSync>> = {
  gzip: gunzipSync,
  deflate: inflateSync,
};

/** What `grpc-accept-encoding` says when a request comes in another encoding. */
export const ACCEPTED_ENCODINGS = ["identity", ...Object.keys(ENCODINGS)].join();

/**
 * @param encoding the header `grpc-encoding`.
 * @returns undefined when messages aren't compressed.
 * @throws {ConnectError} UNIMPLEMENTED for other encodings.
 */
export function decompressor(encoding: string | undefined): Decompress | undefined {
  if (encoding === undefined || encoding === "identity") return undefined;
  const undo = Object.hasOwn(ENCODINGS, encoding) ? ENCODINGS[encoding] : undefined;
  if (!undo) {
    throw new ConnectError(
      `messages compressed with "${encoding}" cannot be read; use one of ${ACCEPTED_ENCODINGS}`,
      Code.Unimplemented,
      { "grpc-accept-encoding": ACCEPTED_ENCODINGS },
    );
  }
  return (message) => {
    try {
      return undo(message, { maxOutputLength: MAX_MESSAGE_BYTES });
    } catch (error) {
      if ((error as { code?: string }).code === "ERR_BUFFER_TOO_LARGE") {
        throw new ConnectError(
          `the request is larger than ${MAX_MESSAGE_BYTES} bytes`,
          Code.ResourceExhausted,
        );
      }
      throw new ConnectError(`a message is not valid ${encoding}`, Code.Internal);
    }
  };
}
