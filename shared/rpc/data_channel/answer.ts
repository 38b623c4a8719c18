import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import { MAX_FRAME_BYTES } from "../../rtc/webrtc/channel.ts";
import { statusMessage } from "../client/grpc_status.ts";
import { MAX_MESSAGE_BYTES } from "../client/limits.ts";
import { metadataOf } from "./call_metadata.ts";
import type { Frame } from "./frame_bytes.ts";
import type { FrameWriter } from "./frame_writer.ts";
import { answerFrame, endFrame, responseFrame, responseMessageFrames } from "./frames.ts";
import type { ServedCall } from "./served_call.ts";

/** What stays of an error's text, in letters, where all of it is too long for a frame. */
const MOST_TEXT = 4_096;

/** Writes what one call is answered: headers, messages, trailers. */
export class Answer {
  #begun = false;

  constructor(
    private readonly id: bigint,
    private readonly call: ServedCall,
    private readonly writer: FrameWriter,
  ) {}

  /** Sends the headers if they aren't. @throws {ConnectError} when they don't fit in a frame. */
  begin(): void {
    if (this.#begun) return;
    const frame = headersFrame(this.id, this.call.headersSet);
    if (frame.length > MAX_FRAME_BYTES) {
      throw new ConnectError("the headers of the answer are too long", Code.Internal);
    }
    this.#begun = true;
    this.writer.send(frame);
  }

  /**
   * Sends a message. Returns nothing when it went at once.
   *
   * @throws {ConnectError} RESOURCE_EXHAUSTED when it is too large.
   */
  message(bytes: Uint8Array): Promise<void> | undefined {
    if (bytes.length > MAX_MESSAGE_BYTES) {
      throw new ConnectError(
        `the answer is larger than ${MAX_MESSAGE_BYTES} bytes`,
        Code.ResourceExhausted,
      );
    }
    this.begin();
    return this.writer.sendAll(responseMessageFrames(this.id, bytes), () => this.call.cancelSignal);
  }

  /** Ends the call, with an error if there is one. */
  end(error: ConnectError | undefined): void {
    if (!this.#begun) {
      const headers = headersFrame(this.id, this.call.headersSet);
      const fits = headers.length <= MAX_FRAME_BYTES;
      this.writer.send(fits ? headers : headersFrame(this.id, undefined));
    }
    this.writer.send(trailersFrame(this.id, error, this.call.trailersSet));
  }
}

/** Answers a call that is not taken up. */
export function refuse(writer: FrameWriter, id: bigint, error: ConnectError): void {
  writer.send(headersFrame(id, undefined));
  writer.send(trailersFrame(id, error, undefined));
}

function headersFrame(id: bigint, headers: Headers | undefined): Frame {
  const metadata = metadataOf(headers);
  return metadata ? responseFrame(id, { case: "headers", value: { metadata } }) : answerFrame(id);
}

/** Details and metadata are left out, and a long text is cut, where they don't fit in a frame. */
function trailersFrame(
  id: bigint,
  error: ConnectError | undefined,
  trailers: Headers | undefined,
): Frame {
  const metadata = metadataOf(trailers);
  if (!error && !metadata) return endFrame(id);
  const status = error ? statusMessage(error) : create(StatusSchema);
  const frame = responseFrame(id, {
    case: "trailers",
    value: metadata ? { status, metadata } : { status },
  });
  if (frame.length <= MAX_FRAME_BYTES) return frame;
  const short = { code: status.code, message: status.message.slice(0, MOST_TEXT) };
  return responseFrame(id, { case: "trailers", value: { status: short } });
}
