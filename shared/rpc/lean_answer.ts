/** What one HTTP/2 stream brings back, put together. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Buffer } from "node:buffer";
import http2, { type ClientHttp2Stream, type IncomingHttpHeaders } from "node:http2";
import { answerHeaders, MessageCutter, statusError } from "./lean_wire.ts";

export class LeanAnswer {
  readonly #cutter = new MessageCutter();
  /** Messages that nobody has taken yet. */
  readonly messages: Uint8Array[] = [];
  #header: IncomingHttpHeaders | undefined;
  #status: IncomingHttpHeaders | undefined;
  #error: Error | undefined;
  /** Called at every message. */
  onMessage: () => void = () => {};

  constructor(stream: ClientHttp2Stream) {
    stream.on("response", (headers) => {
      this.#header = headers;
      if (headers["grpc-status"] !== undefined) this.#status = headers;
    });
    stream.on("trailers", (trailers) => this.#status = trailers);
    stream.on("data", (chunk: Buffer) => {
      try {
        for (const message of this.#cutter.push(chunk)) this.messages.push(message);
        this.onMessage();
      } catch (error) {
        this.#error = error as Error;
        stream.close(http2.constants.NGHTTP2_CANCEL);
      }
    });
    stream.on("error", (error: Error) => this.#error ??= error);
  }

  get header(): Headers {
    return answerHeaders(this.#header);
  }
  get trailer(): Headers {
    return answerHeaders(this.#status);
  }

  /** Why a call that is over did not succeed; undefined when it did. */
  failure(): ConnectError | undefined {
    if (this.#error instanceof ConnectError) return this.#error;
    if (this.#status?.["grpc-status"] !== undefined) return statusError(this.#status);
    const httpStatus = this.#header?.[":status"];
    if (httpStatus !== undefined && Number(httpStatus) !== 200) {
      return new ConnectError(`the answer is HTTP status ${httpStatus}`, Code.Unknown);
    }
    const reason = this.#error?.message ?? "it was closed";
    return new ConnectError(`the connection broke during the call: ${reason}`, Code.Unavailable);
  }
}
