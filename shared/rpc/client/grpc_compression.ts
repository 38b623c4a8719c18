/** Requests whose messages are compressed. Answers never are. */
import { Code, ConnectError } from "@connectrpc/connect";
import { setImmediate } from "node:timers";
import { createGunzip, createInflate } from "node:zlib";

/** Names in `grpc-encoding`. */
const ENCODINGS: Readonly<Record<string, typeof createGunzip | typeof createInflate>> = {
  gzip: createGunzip,
  deflate: createInflate,
};

/** What `grpc-accept-encoding` says when a request comes in another encoding. */
const ACCEPTED_ENCODINGS = ["identity", ...Object.keys(ENCODINGS)].join();

/** Bytes that are inflated until others have had their turn: about 0.1 ms. */
const STEP_BYTES = 65_536;

export interface InflateOptions {
  /** Longest message, inflated. */
  readonly maxBytes: number;
  /** Notified of bytes before they are kept; what it throws ends the work. */
  readonly hold: (bytes: number) => void;
}

/** Undoes the compression of a message. @throws {ConnectError} */
export type Inflate = (message: Uint8Array, options: InflateOptions) => Promise<Uint8Array>;

/**
 * @param encoding the header `grpc-encoding`.
 * @returns undefined when messages aren't compressed.
 * @throws {ConnectError} UNIMPLEMENTED for other encodings.
 */
export function inflater(encoding: string | undefined): Inflate | undefined {
  if (encoding === undefined || encoding === "identity") return undefined;
  const create = Object.hasOwn(ENCODINGS, encoding) ? ENCODINGS[encoding] : undefined;
  if (!create) {
    throw new ConnectError(
      `messages compressed with "${encoding}" cannot be read; use one of ${ACCEPTED_ENCODINGS}`,
      Code.Unimplemented,
      { "grpc-accept-encoding": ACCEPTED_ENCODINGS },
    );
  }
  return (message, options) => inflate(create, message, options, encoding);
}

/** In steps: Deno's zlib works on the thread of its caller, also where it looks asynchronous. */
async function inflate(
  create: typeof createGunzip | typeof createInflate,
  message: Uint8Array,
  { maxBytes, hold }: InflateOptions,
  encoding: string,
): Promise<Uint8Array> {
  const chunkSize = Math.min(STEP_BYTES, maxBytes + 1);
  const stream = create({ chunkSize });
  const parts: Uint8Array[] = [];
  let length = 0;
  try {
    stream.end(message);
    for await (const part of stream as AsyncIterable<Uint8Array>) {
      length += part.length;
      if (length > maxBytes) {
        throw new ConnectError(
          `the request is larger than ${maxBytes} bytes`,
          Code.ResourceExhausted,
        );
      }
      hold(part.length);
      parts.push(part);
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  } catch (error) {
    if (error instanceof ConnectError) throw error;
    throw new ConnectError(`a message is not valid ${encoding}`, Code.Internal);
  } finally {
    stream.destroy();
  }
  return parts.length === 1 ? parts[0]! : joined(parts, length);
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
