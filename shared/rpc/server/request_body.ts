/** The messages of one call over HTTP/2, of which nothing is cut or inflated until it is let in. */
import { Code, ConnectError } from "@connectrpc/connect";
import { Buffer } from "node:buffer";
import type { Inflate } from "../client/grpc_compression.ts";
import { MessageCutter } from "../client/grpc_frames.ts";
import { MAX_MESSAGE_BYTES } from "../client/limits.ts";
import type { RequestAccount } from "./request_account.ts";
import type { RequestAccounts } from "./request_budget.ts";
import { PACE, type Pace } from "./request_pace.ts";

/** Messages, and bytes of them, that wait for their reader before the flow is stopped. */
const QUEUED_MESSAGES = 16;
const QUEUED_BYTES = 256 * 1024;
/** What a message costs next to its bytes. */
const MESSAGE_OVERHEAD_BYTES = 128;
/** What stands in front of each on the wire. */
const PREFIX_BYTES = 5;

export interface RequestBodyOptions {
  /** True where the method takes one message. */
  readonly takesOne: boolean;
  readonly accounts: RequestAccounts;
  /** Undefined where messages aren't compressed. */
  readonly inflate: Inflate | undefined;
  /** Holds back who sends. */
  readonly flow: { pause(): void; resume(): void };
}

/**
 * Takes the bytes of a request as they come. Until {@link letIn} they are kept as they are, few and
 * counted; after {@link end} none are. What it cannot take becomes an error for its reader.
 */
export class RequestBody {
  #account: RequestAccount;
  #cutter: MessageCutter | undefined;
  #maxBytes = MAX_MESSAGE_BYTES;
  /** What has come before the call was let in. */
  #early: Buffer[] | undefined;
  readonly #messages: Uint8Array[] = [];
  #compressed: Set<Uint8Array> | undefined;
  #queuedBytes = 0;
  /** Messages that have been cut in all, and bytes that have come. */
  #cut = 0;
  #received = 0;
  /** What the account has given. */
  #held = 0;
  #complete = false;
  #error: ConnectError | undefined;
  #over = false;
  #wake: (() => void) | undefined;
  /** The message that is waited for: its number, since when, and what had come by then. */
  #awaited: { message: number; sinceMs: number; received: number } | undefined;

  constructor(private readonly options: RequestBodyOptions) {
    this.#account = options.accounts.open;
  }

  /**
   * The call may be read.
   *
   * @param limit the longest message, inflated; default: the longest there is.
   */
  letIn(limit?: number): void {
    if (this.#over) return;
    if (limit === undefined) this.#moveTo(this.options.accounts.letIn);
    else this.#maxBytes = Math.min(limit, MAX_MESSAGE_BYTES);
    const onCompressed = this.options.inflate &&
      ((message: Uint8Array) => void (this.#compressed ??= new Set()).add(message));
    this.#cutter = new MessageCutter({ what: "request", maxBytes: this.#maxBytes, onCompressed });
    const early = this.#early;
    if (!early) return;
    this.#early = undefined;
    for (const bytes of early) this.#push(bytes);
    if (this.#complete) this.#checkEnd();
    if (this.#roomy) this.options.flow.resume();
  }

  /** The call has been answered, or is not let in: nothing more is kept. */
  end(): void {
    if (this.#over) return;
    this.#over = true;
    this.#drop();
    this.#wakeReader();
  }

  /** Calls `run` when {@link one} knows: when the request is complete, or failed. */
  whenComplete(run: () => void): void {
    if (this.#complete || this.#stopped) run();
    else this.#wake = run;
  }

  /**
   * The only message of a complete request.
   *
   * @throws {ConnectError} when there is not just one, or it can't be read.
   */
  one(): Uint8Array | Promise<Uint8Array> {
    this.#throwIfStopped();
    const [message] = this.#messages;
    if (!message) {
      throw new ConnectError("the request has 0 messages, but the method takes one", Code.Internal);
    }
    if (!this.#compressed?.has(message)) return message;
    return this.#inflated(message).then(({ message }) => message);
  }

  /** The messages, as fast as they are read. */
  async *messages(): AsyncGenerator<Uint8Array> {
    for (;;) {
      const message = this.#messages.shift();
      if (message !== undefined) {
        this.#queuedBytes -= message.length;
        const read = this.#compressed?.delete(message)
          ? await this.#inflated(message)
          : { message, bytes: 0 };
        if (this.#messages.length === 0) this.options.flow.resume();
        yield read.message;
        this.#give(message.length + PREFIX_BYTES + MESSAGE_OVERHEAD_BYTES + read.bytes);
      } else if (this.#stopped) this.#throwIfStopped();
      else if (this.#complete) return;
      else await this.#more();
    }
  }

  // What the stream brings.

  data(bytes: Uint8Array): void {
    if (this.#error || this.#over) return;
    this.#received += bytes.length;
    try {
      this.#hold(bytes.length);
    } catch (error) {
      return this.#fail(ConnectError.from(error));
    }
    if (this.#cutter) return this.#push(bytes);
    // The bytes are only lent.
    (this.#early ??= []).push(Buffer.from(bytes));
    this.options.flow.pause();
  }

  complete(): void {
    this.#complete = true;
    if (this.#cutter) this.#checkEnd();
    this.#wakeReader();
  }

  failed(): void {
    if (!this.#stopped) this.#fail(new ConnectError("the caller went away", Code.Canceled));
  }

  /**
   * To be called every few seconds: a request that was begun and doesn't come on ends.
   *
   * @param nowMs of a clock that never goes back.
   */
  expire(nowMs: number, pace: Pace = PACE): void {
    const isInside = this.#cutter && !this.options.takesOne ? this.#cutter.isInside : true;
    if (this.#complete || this.#stopped || !this.#roomy || !isInside) {
      this.#awaited = undefined;
    } else if (this.#awaited?.message !== this.#cut) {
      this.#awaited = { message: this.#cut, sinceMs: nowMs, received: this.#received };
    } else {
      const bytes = this.#received - this.#awaited.received;
      const isOpen = this.#account === this.options.accounts.open;
      const allowedMs = isOpen ? pace.openMs : pace.graceMs + bytes / pace.bytesPerMs;
      if (nowMs - this.#awaited.sinceMs <= allowedMs) return;
      this.#fail(
        new ConnectError("the request was not complete in time", Code.DeadlineExceeded),
      );
    }
  }

  get #stopped(): boolean {
    return this.#error !== undefined || this.#over;
  }

  get #roomy(): boolean {
    return this.#messages.length < QUEUED_MESSAGES && this.#queuedBytes < QUEUED_BYTES;
  }

  #throwIfStopped(): void {
    if (this.#error) throw this.#error;
    this.#throwIfOver();
  }

  /** Once for each wait. */
  #wakeReader(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }

  #more(): Promise<void> {
    return new Promise((resolve) => this.#wake = resolve);
  }

  #push(bytes: Uint8Array): void {
    if (this.#error) return;
    const before = this.#messages.length;
    try {
      this.#cutter!.push(bytes, this.#messages);
      const added = this.#messages.length - before;
      if (added === 0) return;
      this.#hold(added * MESSAGE_OVERHEAD_BYTES);
      this.#cut += added;
      if (this.options.takesOne) {
        if (this.#cut > 1) throw tooMany();
        return;
      }
    } catch (error) {
      return this.#fail(ConnectError.from(error));
    }
    for (let n = before; n < this.#messages.length; n++) {
      this.#queuedBytes += this.#messages[n]!.length;
    }
    if (!this.#roomy) this.options.flow.pause();
    this.#wakeReader();
  }

  #checkEnd(): void {
    if (!this.#cutter!.isInside) return;
    this.#error ??= new ConnectError("the request ends inside a message", Code.Internal);
  }

  /** Its reader gets what came before, then the error; nothing more is taken. */
  #fail(error: ConnectError): void {
    if (this.#stopped) return;
    this.#error = error;
    this.#early = undefined;
    if (this.#cutter) this.#cutter.clear();
    if (this.options.takesOne) this.#messages.length = 0;
    this.#wakeReader();
  }

  async #inflated(message: Uint8Array): Promise<{ message: Uint8Array; bytes: number }> {
    let bytes = 0;
    const hold = (more: number) => {
      this.#throwIfOver();
      this.#hold(more);
      bytes += more;
    };
    const inflated = await this.options.inflate!(message, { maxBytes: this.#maxBytes, hold });
    return { message: inflated, bytes };
  }

  #throwIfOver(): void {
    if (this.#over) throw new ConnectError("the call has finished", Code.Canceled);
  }

  #moveTo(account: RequestAccount): void {
    const held = this.#held;
    this.#give(held);
    this.#account = account;
    try {
      this.#hold(held);
    } catch (error) {
      this.#fail(ConnectError.from(error));
    }
  }

  #hold(bytes: number): void {
    this.#account.take(bytes);
    this.#held += bytes;
  }

  #give(bytes: number): void {
    if (this.#over) return;
    this.#account.give(bytes);
    this.#held -= bytes;
  }

  #drop(): void {
    this.#early = undefined;
    this.#messages.length = 0;
    this.#cutter?.clear();
    this.#account.give(this.#held);
    this.#held = 0;
  }
}

function tooMany(): ConnectError {
  return new ConnectError(
    "the request has at least 2 messages, but the method takes one",
    Code.Internal,
  );
}
