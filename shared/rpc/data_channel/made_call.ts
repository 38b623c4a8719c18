import { Code, ConnectError } from "@connectrpc/connect";
import type { Status } from "../../gen/google/rpc/status_pb.ts";
import type { CancelSignal } from "../client/call_channel.ts";
import { CancelSource } from "../client/cancel_source.ts";
import { addDetails } from "../client/grpc_status.ts";
import { MAX_MESSAGE_BYTES } from "../client/limits.ts";
import { appendAnswerMetadata } from "./call_metadata.ts";
import type { FrameWriter } from "./frame_writer.ts";
import type { Piece } from "./frame_bytes.ts";
import {
  endOfStreamFrame,
  MessageAssembler,
  requestFrame,
  requestMessageFrames,
  type ResponseContent,
} from "./frames.ts";
import type { HeldBytes } from "./held_bytes.ts";
import { MessageQueue } from "./message_queue.ts";

export interface MadeCallOptions {
  readonly id: bigint;
  /** Cancels the call. */
  readonly signal: CancelSignal;
  readonly writer: FrameWriter;
  readonly held: HeldBytes;
  /** Called once, when nothing more comes. */
  readonly onEnd: () => void;
}

/** Made once: a reason for each call would cost as much as the rest of its end. */
const OVER = new ConnectError("the call has finished", Code.Canceled);

/** One call that has been made over a data channel, from its headers to its end. */
export class MadeCall {
  #header: Headers | undefined;
  #trailer: Headers | undefined;
  /** The answers, then the error if the call ended with one. */
  readonly answers: MessageQueue;
  /** Resolves with the call's error, or with nothing when it succeeded. */
  readonly ended: Promise<ConnectError | undefined>;
  #hasBegun = false;
  #begin = () => {};
  readonly #end: (error: ConnectError | undefined) => void;
  readonly #assembler: MessageAssembler;
  /** Aborts at the end of the call, so that nothing of it is sent from then on. */
  readonly #over = new CancelSource();
  readonly #onAbort = () => this.cancel(abortReason(this.options.signal));

  constructor(private readonly options: MadeCallOptions) {
    this.answers = new MessageQueue(options.held);
    this.#assembler = new MessageAssembler(options.held);
    const ended = Promise.withResolvers<ConnectError | undefined>();
    this.ended = ended.promise;
    this.#end = ended.resolve;
    options.signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** Resolves when the answer begins, or never will. */
  begun(): Promise<void> {
    return this.#hasBegun ? Promise.resolve() : new Promise((resolve) => this.#begin = resolve);
  }

  get header(): Headers {
    return this.#header ??= new Headers();
  }
  /** Complete when the call has ended. */
  get trailer(): Headers {
    return this.#trailer ??= new Headers();
  }

  /** Takes a frame of the answer. */
  take(type: ResponseContent): void {
    switch (type.case) {
      case "headers":
        // An answer has one; more could fill the memory of who calls.
        if (this.#hasBegun) return;
        if (type.value.metadata) appendAnswerMetadata(this.header, type.value.metadata);
        return this.#begins();
      case "message":
        if (type.value.packetMessage) this.#message(type.value.packetMessage);
        return;
      case "trailers":
        if (type.value.metadata) appendAnswerMetadata(this.trailer, type.value.metadata);
        return this.finish(this.#errorOf(type.value));
    }
  }

  #begins(): void {
    this.#hasBegun = true;
    this.#begin();
  }

  #message(piece: Piece): void {
    try {
      const message = this.#assembler.push(piece);
      if (message) this.answers.push(message);
    } catch (error) {
      this.cancel(ConnectError.from(error));
    }
  }

  /** Sends one request. `last`: no further one comes. Returns nothing when it went at once. */
  send(request: Uint8Array, { last }: { last: boolean }): Promise<void> | undefined {
    const { id, writer } = this.options;
    if (request.length > MAX_MESSAGE_BYTES) {
      const text = `the request is larger than ${MAX_MESSAGE_BYTES} bytes`;
      this.cancel(new ConnectError(text, Code.ResourceExhausted));
      return undefined;
    }
    return writer.sendAll(requestMessageFrames(id, request, { last }), () => this.#over);
  }

  /** Sends requests until they or the call end. */
  async sendAll(requests: AsyncIterable<Uint8Array>): Promise<void> {
    const over = this.#over;
    try {
      for await (const request of requests) {
        if (over.aborted) return;
        const pending = this.send(request, { last: false });
        if (pending) await pending;
        if (over.aborted) return;
      }
      if (!over.aborted) this.options.writer.send(endOfStreamFrame(this.options.id));
    } catch (error) {
      // The call can't be completed, and its reader learns it so.
      this.cancel(new ConnectError("its requests failed", Code.Canceled, undefined, [], error));
    }
  }

  /** The answers, as fast as they are read; who stops reading cancels the call. */
  async *messages(): AsyncIterable<Uint8Array> {
    try {
      yield* this.answers.read();
    } finally {
      this.cancel(new ConnectError("the call was cancelled", Code.Canceled));
    }
  }

  /** Cancels it, and notifies the peer. Does nothing when it has ended. */
  cancel(reason: ConnectError): void {
    if (this.#over.aborted) return;
    this.options.writer.send(requestFrame(this.options.id, { case: "rstStream", value: true }));
    this.answers.drop(reason);
    this.finish(reason);
  }

  /** Ends the call; what came before can still be read. */
  finish(error: ConnectError | undefined): void {
    if (this.#over.aborted) return;
    this.#over.abort(OVER);
    this.options.signal.removeEventListener("abort", this.#onAbort);
    this.#assembler.clear();
    this.answers.end(error);
    this.#begins();
    this.#end(error);
    this.options.onEnd();
  }

  /** The error that trailers carry; undefined when the call succeeded. */
  #errorOf({ status }: { readonly status?: Status | undefined }): ConnectError | undefined {
    if (!status || status.code === 0) return undefined;
    const code = Code[status.code] === undefined ? Code.Unknown : status.code as Code;
    const error = new ConnectError(status.message, code, this.trailer);
    addDetails(error, status);
    return error;
  }
}

/** What an aborted call is answered with. */
export function abortReason({ reason }: CancelSignal): ConnectError {
  return reason instanceof ConnectError
    ? reason
    : new ConnectError("the call was cancelled", Code.Canceled);
}
