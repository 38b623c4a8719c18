/** gRPC over one WebRTC data channel: the side that calls. */
import { Code, ConnectError, type Interceptor, type Transport } from "@connectrpc/connect";
import { MAX_FRAME_BYTES, type MessageChannel } from "../../rtc/webrtc/channel.ts";
import type { AnswerMetadata, CallChannel, OutgoingCall } from "../client/call_channel.ts";
import { transportOver } from "../client/transport_over.ts";
import { metadataOfHttp2 } from "./call_metadata.ts";
import { durationOf } from "./call_timeout.ts";
import type { Frame } from "./frame_bytes.ts";
import { FrameWriter } from "./frame_writer.ts";
import { headersFrame as plainHeadersFrame, readResponse, requestFrame } from "./frames.ts";
import { HeldBytes } from "./held_bytes.ts";
import { abortReason, MadeCall } from "./made_call.ts";
import { refusal } from "../reasons.ts";

/**
 * A Connect transport over a data channel. Takes over all that can be set on the channel; when it
 * closes, running calls and later ones end with UNAVAILABLE. An answer of too many values fails its
 * call with RESOURCE_EXHAUSTED: what a machine answers must not stop who calls it.
 */
export function createDataChannelTransport(
  channel: MessageChannel,
  options: { readonly interceptors?: Interceptor[] } = {},
): Transport {
  return transportOver(new DataChannelCalls(channel), { ...options, fewValues: true });
}

/** Calls over one data channel, as bytes. */
export class DataChannelCalls implements CallChannel {
  readonly #writer: FrameWriter;
  readonly #calls = new Map<bigint, MadeCall>();
  readonly #held = new HeldBytes();
  #lastId = 0n;
  #closed: string | undefined;

  constructor(private readonly channel: MessageChannel) {
    this.#writer = new FrameWriter(channel);
    channel.onClosed = (reason) => this.#end(reason);
    channel.onMessage = (bytes) => {
      const frame = readResponse(bytes);
      if (frame) this.#calls.get(frame.id)?.take(frame.type);
    };
  }

  async call(outgoing: OutgoingCall, request: Uint8Array): Promise<Uint8Array> {
    const call = this.#ask(outgoing, request);
    return answerOf(call, await call.ended);
  }

  async unaryWithMetadata(
    outgoing: OutgoingCall,
    request: Uint8Array,
  ): Promise<AnswerMetadata & { bytes: Uint8Array }> {
    const call = this.#ask(outgoing, request);
    const bytes = answerOf(call, await call.ended);
    return { bytes, header: call.header, trailer: call.trailer };
  }

  async stream(
    outgoing: OutgoingCall,
    requests: AsyncIterable<Uint8Array>,
  ): Promise<AnswerMetadata & { messages: AsyncIterable<Uint8Array> }> {
    const call = this.#begin(outgoing);
    void call.sendAll(requests);
    await call.begun();
    return { header: call.header, trailer: call.trailer, messages: call.messages() };
  }

  /** Closes the channel; running calls end with UNAVAILABLE. */
  close(): void {
    this.#end("closed");
    this.channel.close();
  }

  /** Makes a call with one request. @throws {ConnectError} when it can't be made. */
  #ask(outgoing: OutgoingCall, request: Uint8Array): MadeCall {
    const call = this.#begin(outgoing);
    void call.send(request, { last: true });
    return call;
  }

  /** @throws {ConnectError} when the call can't be made. */
  #begin(outgoing: OutgoingCall): MadeCall {
    if (this.#closed !== undefined) throw gone(this.#closed);
    if (outgoing.signal.aborted) throw abortReason(outgoing.signal);
    const id = ++this.#lastId;
    const headers = headersFrame(id, outgoing);
    const call = new MadeCall({
      id,
      signal: outgoing.signal,
      writer: this.#writer,
      held: this.#held,
      onEnd: () => this.#calls.delete(id),
    });
    this.#calls.set(id, call);
    this.#writer.send(headers);
    return call;
  }

  #end(reason: string): void {
    if (this.#closed !== undefined) return;
    this.#closed = reason;
    this.#writer.end();
    for (const call of [...this.#calls.values()]) call.finish(gone(reason));
  }
}

/** @throws {ConnectError} RESOURCE_EXHAUSTED when the metadata doesn't fit in a frame. */
function headersFrame(id: bigint, { path, metadata, timeoutMs }: OutgoingCall): Frame {
  const fields = metadataOfHttp2(metadata.toHttp2Headers());
  if (!fields && timeoutMs === undefined) return plainHeadersFrame(id, path);
  const frame = requestFrame(id, {
    case: "headers",
    value: {
      method: path,
      ...(fields && { metadata: fields }),
      ...(timeoutMs !== undefined && { timeout: durationOf(timeoutMs) }),
    },
  });
  if (frame.length > MAX_FRAME_BYTES) {
    throw new ConnectError("the metadata of the call is too long", Code.ResourceExhausted);
  }
  return frame;
}

/** The one answer of a call that has ended. @throws what it ended with. */
function answerOf(call: MadeCall, error: ConnectError | undefined): Uint8Array {
  const bytes = error ? undefined : call.answers.take();
  call.answers.drop();
  if (error) throw error;
  if (!bytes) throw new ConnectError("the call finished without a response", Code.Internal);
  return bytes;
}

function gone(reason: string): ConnectError {
  return refusal("NOT_CONNECTED", {}, `the data channel was closed: ${reason}`, Code.Unavailable);
}
