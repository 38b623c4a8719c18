import { Code, ConnectError } from "@connectrpc/connect";
import type { CallDeadlines } from "../server/deadlines.ts";
import { toCallerError, type UnexpectedErrorReporter } from "../server/errors.ts";
import { type Interceptor, runAfter, runBefore } from "../server/interceptor.ts";
import { invokeMany, invokeOne } from "../server/invocation.ts";
import { DEFAULT_CALL_DEADLINE_MS } from "../client/limits.ts";
import type { MethodBinding } from "../server/router.ts";
import type { Answer } from "./answer.ts";
import { after } from "./call_timeout.ts";
import { MessageAssembler, type RequestPiece } from "./frames.ts";
import type { HeldBytes } from "./held_bytes.ts";
import { MessageQueue } from "./message_queue.ts";
import { ENDED, type ServedCall } from "./served_call.ts";
import { refusal } from "../reasons.ts";

export interface TurnOptions {
  readonly binding: MethodBinding;
  readonly call: ServedCall;
  readonly answer: Answer;
  readonly held: HeldBytes;
  readonly deadlines: CallDeadlines;
  readonly interceptors: readonly Interceptor[];
  readonly report: UnexpectedErrorReporter;
  /** Called once, when the caller has been notified how the call ended. */
  readonly onEnd: () => void;
}

/** One call on its way from its first frame through interceptors and handler to its trailers. */
export class Turn {
  readonly #assembler: MessageAssembler;
  readonly #requests: MessageQueue;
  #answers: AsyncIterator<Uint8Array> | undefined;
  #ended = false;

  constructor(private readonly options: TurnOptions) {
    this.#assembler = new MessageAssembler(options.held);
    this.#requests = new MessageQueue(options.held);
  }

  /** True when the caller has been notified how the call ended. */
  get ended(): boolean {
    return this.#ended;
  }

  /** True for methods with a stream of answers. */
  get answersMany(): boolean {
    const { methodKind } = this.options.binding.method;
    return methodKind === "server_streaming" || methodKind === "bidi_streaming";
  }

  get #asksMany(): boolean {
    const { methodKind } = this.options.binding.method;
    return methodKind === "client_streaming" || methodKind === "bidi_streaming";
  }

  /** Takes a piece of a request, or the end of the stream of them. */
  request({ hasMessage, packetMessage, eos }: RequestPiece): void {
    if (this.#requests.ended) {
      // Over HTTP/2 it fails such a call, too.
      if (hasMessage && !this.#asksMany) this.abort(invalid("the method takes one message"));
      return;
    }
    try {
      if (hasMessage) {
        if (!packetMessage) throw invalid("a frame announces a message, and has none");
        const message = this.#assembler.push(packetMessage, this.options.call.messageLimit);
        // The end counts with the last piece only: some clients set it on every one.
        if (!message) return;
        this.#requests.push(message);
        // Clients do not end the stream of a method that takes one request.
        if (eos || !this.#asksMany) this.#requests.end();
      } else if (eos) {
        if (this.#assembler.begun) throw invalid("the stream was closed within a message");
        this.#requests.end();
      }
    } catch (error) {
      this.abort(error);
    }
  }

  /** Ends the call with this reason, whatever its handler does. */
  abort(reason: unknown): void {
    this.options.call.abort(reason);
  }

  async run(): Promise<void> {
    const { call, answer, interceptors } = this.options;
    call.onAbort((error) => this.#end(error));
    const stop = this.#startTimer();
    try {
      const pending = runBefore(interceptors, call, this);
      if (pending !== undefined) await pending;
      if (this.#ended) return;
      if (this.answersMany) await this.#answerMany();
      else {
        const request = this.#asksMany ? this.#requests.read() : await this.#requests.next();
        const bytes = await invokeOne(this.options.binding, call, request ?? missing());
        if (this.#ended) return;
        const left = answer.message(bytes);
        if (left) await left;
      }
      if (this.#ended) return;
      answer.begin();
      this.#end(undefined);
    } catch (error) {
      this.#end(this.#failure(error));
    } finally {
      stop();
    }
  }

  async #answerMany(): Promise<void> {
    const { binding, call, answer } = this.options;
    const input = await this.#input();
    if (this.#ended) return;
    const answers = this.#answers = invokeMany(binding, call, input);
    try {
      for (;;) {
        const { done, value } = await answers.next();
        if (done || this.#ended) break;
        const pending = answer.message(value);
        if (pending) await pending;
      }
    } finally {
      void this.#stopAnswers();
    }
  }

  /** Of a call with a stream of answers. */
  async #input() {
    if (this.#asksMany) return this.#requests.read();
    const limit = this.options.deadlines.watch(this, DEFAULT_CALL_DEADLINE_MS);
    try {
      return await this.#requests.next() ?? missing();
    } finally {
      limit.release();
    }
  }

  /** Lets the handler know, also while it makes the next message. */
  async #stopAnswers(): Promise<void> {
    const answers = this.#answers;
    this.#answers = undefined;
    await answers?.return?.().catch(() => undefined);
  }

  /** Streams may last; a call with one answer has the limit that it has on every transport. */
  #startTimer(): () => void {
    const { call, deadlines } = this.options;
    const limitMs = call.timeoutMs();
    if (limitMs === undefined) {
      if (this.answersMany) return () => {};
      const limit = deadlines.watch(this, DEFAULT_CALL_DEADLINE_MS);
      return () => limit.release();
    }
    return after(limitMs, () => {
      const limit = `${Math.round(limitMs) / 1000} s`;
      call.abort(
        refusal("CALL_SLOW", {}, `the call took longer than ${limit}`, Code.DeadlineExceeded),
      );
    });
  }

  /** The first end counts: a call is answered once. */
  #end(error: ConnectError | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    const { call, answer, interceptors } = this.options;
    answer.end(error);
    this.options.onEnd();
    this.#assembler.clear();
    this.#requests.drop(error ?? ENDED);
    if (this.#answers) void this.#stopAnswers();
    runAfter(interceptors, call, {
      code: error?.code,
      error,
      durationMs: performance.now() - call.startedAt,
    });
    call.finish();
  }

  #failure(error: unknown): ConnectError {
    // What a handler throws once its caller left is not the answer.
    if (this.#ended) return new ConnectError("the caller went away", Code.Canceled);
    return toCallerError(error, this.options.binding.path, this.options.report);
  }
}

/** @throws {ConnectError} INVALID_ARGUMENT */
function missing(): never {
  throw invalid("the call was half-closed without a request");
}

function invalid(text: string): ConnectError {
  return new ConnectError(text, Code.InvalidArgument);
}
