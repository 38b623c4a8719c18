/** What one HTTP/2 stream brings back, put together. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { HeaderList } from "../h2/fields.ts";
import { ErrorCode } from "../h2/frames.ts";
import type { H2Stream, StreamFailure, StreamReceiver } from "../h2/stream.ts";
import {
  answerHeaders,
  codeOfReset,
  headerValue,
  MessageCutter,
  statusError,
} from "./grpc_frames.ts";

export class Http2Response implements StreamReceiver {
  readonly #cutter = new MessageCutter();
  /** Messages that nobody has taken yet. */
  readonly messages: Uint8Array[] = [];
  /** Where it comes from; set by who made the request. */
  stream: H2Stream | undefined;
  #header: HeaderList | undefined;
  #status: HeaderList | undefined;
  #failure: StreamFailure | undefined;
  #error: ConnectError | undefined;
  /** Called when the headers are there. */
  onHeader: () => void = () => {};
  /** Called when messages have come. */
  onMessage: () => void = () => {};

  /** @param onClosed called when nothing comes any more, which may be before there is a stream. */
  constructor(private readonly onClosed: (answer: Http2Response) => void) {}

  get header(): Headers {
    return answerHeaders(this.#header);
  }
  get trailer(): Headers {
    return answerHeaders(this.#status);
  }
  /** True when the peer certainly hasn't taken the call up. */
  get unprocessed(): boolean {
    return this.#failure?.unprocessed === true;
  }

  cancel(): void {
    this.stream?.reset(ErrorCode.cancel);
  }

  headers(headers: HeaderList): void {
    if (headerValue(headers, "grpc-status") !== undefined) this.#status = headers;
    if (this.#header) return;
    this.#header = headers;
    this.onHeader();
  }

  data(bytes: Uint8Array): void {
    try {
      this.#cutter.push(bytes, this.messages);
      this.onMessage();
    } catch (error) {
      this.#error = ConnectError.from(error);
      this.cancel();
    }
  }

  closed(failure: StreamFailure | undefined): void {
    this.#failure = failure;
    this.onClosed(this);
  }

  /** Why a call that is over did not succeed; undefined when it did. */
  failure(): ConnectError | undefined {
    if (this.#error) return this.#error;
    if (this.#failure) {
      const { reason, code } = this.#failure;
      return code === undefined
        ? new ConnectError(`the connection broke during the call: ${reason}`, Code.Unavailable)
        : new ConnectError(`the call was aborted: ${reason}`, codeOfReset(code));
    }
    if (this.#status) return statusError(this.#status);
    const httpStatus = headerValue(this.#header, ":status");
    return httpStatus === "200"
      ? new ConnectError("the response ended without a status", Code.Internal)
      : new ConnectError(`the answer is HTTP status ${httpStatus}`, Code.Unknown);
  }
}
