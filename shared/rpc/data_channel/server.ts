/** gRPC over one WebRTC data channel: the side that answers. */
import { Code, ConnectError, type ContextValues } from "@connectrpc/connect";
import type { RequestHeaders } from "../../gen/proto/rpc/webrtc/v1/grpc_pb.ts";
import type { MessageChannel } from "../../rtc/webrtc/channel.ts";
import { CallDeadlines } from "../server/deadlines.ts";
import type { UnexpectedErrorReporter } from "../server/errors.ts";
import type { Interceptor } from "../server/interceptor.ts";
import type { Peer } from "../server/peer.ts";
import type { RequestBudgets } from "../server/request_budget.ts";
import type { RpcRouter } from "../server/router.ts";
import { RunningCalls } from "../server/running_calls.ts";
import { Answer, refuse } from "./answer.ts";
import { readMetadata } from "./call_metadata.ts";
import { timeoutOf } from "./call_timeout.ts";
import { FrameWriter } from "./frame_writer.ts";
import { readRequest, type RequestPiece } from "./frames.ts";
import { HeldBytes } from "./held_bytes.ts";
import { ServedCall } from "./served_call.ts";
import { Turn } from "./turn.ts";

/** Calls at a time on one channel; clients of the family do not make more. */
export const MOST_CALLS = 256;

/** Least number of ended calls remembered: what of them is still on its way means nothing. */
const ENDED_CALLS = 1_024;

export interface DataChannelServerOptions {
  /** Finds what answers a method. */
  readonly router: Pick<RpcRouter, "method">;
  readonly interceptors: readonly Interceptor[];
  /** Who the peer is. */
  readonly peer: Peer;
  /** Leaves what is known of the caller in each call's context, before interceptors run. */
  readonly values?: (values: ContextValues) => void;
  /** What requests of all channels may hold. Default: each channel has its own limit only. */
  readonly budgets?: RequestBudgets;
  readonly report: UnexpectedErrorReporter;
  /** Ends streams and takes no further calls; calls with one answer continue. */
  readonly signal: AbortSignal;
}

/** What the last answers may take to leave, when the server closes. */
const LAST_ANSWERS_MS = 1_000;

/** A channel that is served. */
export interface ServedDataChannel {
  /** Calls that have no end yet. */
  readonly activeCalls: number;
  /**
   * Takes no further calls, ends streams with UNAVAILABLE, lets running calls finish for `graceMs`,
   * then ends what is left. Resolves when the answers have left, a second later at the latest; the
   * channel stays open, and who owns it closes it.
   */
  close(graceMs: number): Promise<void>;
}

/**
 * Answers the calls that come over a channel, until it closes. Takes over all that can be set on
 * the channel. What a peer sends that is no call, or breaks the rules of one, ends that call at
 * most. Calls are not signed in here: `values` says whose channel it is.
 */
export function serveDataChannel(
  channel: MessageChannel,
  options: DataChannelServerOptions,
): ServedDataChannel {
  return new DataChannelServer(channel, options);
}

class DataChannelServer implements ServedDataChannel {
  readonly #writer: FrameWriter;
  readonly #turns = new Map<bigint, Turn>();
  /** The last ones, and those before them. */
  #endedIds = new Set<bigint>();
  #endedBefore = new Set<bigint>();
  readonly #held: HeldBytes;
  readonly #running = new RunningCalls();
  readonly #deadlines = new CallDeadlines();
  #stopped = false;
  readonly #stop = () => this.#endStreams();

  constructor(channel: MessageChannel, private readonly options: DataChannelServerOptions) {
    this.#writer = new FrameWriter(channel);
    const { signal, peer } = options;
    // Of some callers no address is known; they are not one.
    const local = peer.local || peer.address === "";
    const accounts = options.budgets?.accounts({ address: peer.address, local });
    this.#held = new HeldBytes(undefined, accounts?.letIn);
    channel.onClosed = () => {
      signal.removeEventListener("abort", this.#stop);
      this.#stopped = true;
      this.#writer.end();
      this.#deadlines.close();
      this.#endAll(new ConnectError("the caller went away", Code.Canceled));
      accounts?.close();
    };
    if (signal.aborted) this.#endStreams();
    else signal.addEventListener("abort", this.#stop, { once: true });
    channel.onMessage = (bytes) => this.#read(bytes);
  }

  get activeCalls(): number {
    return this.#turns.size;
  }

  async close(graceMs: number): Promise<void> {
    this.#endStreams();
    if (graceMs > 0) await this.#running.none(graceMs);
    this.#endAll(unavailable());
    await this.#writer.left(LAST_ANSWERS_MS);
  }

  #read(bytes: Uint8Array): void {
    const frame = readRequest(bytes);
    if (!frame) return;
    const { id, type } = frame;
    switch (type.case) {
      case "headers":
        return this.#headers(id, type.value);
      case "message":
        return this.#message(id, type.value);
      case "rstStream": {
        if (!type.value) return;
        const reason = new ConnectError("the caller cancelled the call", Code.Canceled);
        return this.#turns.get(id)?.abort(reason);
      }
    }
  }

  #headers(id: bigint, headers: Pick<RequestHeaders, "method" | "metadata" | "timeout">): void {
    const turn = this.#turns.get(id);
    if (turn) return turn.abort(invalid("headers already received"));
    try {
      this.#begin(id, headers);
    } catch (error) {
      this.#refuse(id, ConnectError.from(error));
    }
  }

  #message(id: bigint, message: RequestPiece): void {
    const turn = this.#turns.get(id);
    if (turn) turn.request(message);
    else if (!this.#hasEnded(id)) this.#refuse(id, invalid("headers not yet received"));
  }

  /** @throws {ConnectError} when the call is not taken up. */
  #begin(id: bigint, headers: Pick<RequestHeaders, "method" | "metadata" | "timeout">): void {
    const { router, interceptors, peer, values, report } = this.options;
    if (this.#stopped) throw unavailable();
    if (this.#turns.size >= MOST_CALLS) {
      throw new ConnectError(
        `${MOST_CALLS} calls are running on this connection; wait for one to finish`,
        Code.ResourceExhausted,
      );
    }
    const metadata = readMetadata(headers.metadata);
    const binding = router.method(headers.method);
    if (!binding) throw new ConnectError(`unknown method ${headers.method}`, Code.Unimplemented);
    const timeoutMs = timeoutOf(headers, metadata.get("grpc-timeout")?.[0]);
    const call = new ServedCall({ binding, metadata, peer, timeoutMs, values });
    const turn = new Turn({
      binding,
      call,
      answer: new Answer(id, call, this.#writer),
      held: this.#held,
      deadlines: this.#deadlines,
      interceptors,
      report,
      onEnd: () => {
        this.#turns.delete(id);
        this.#remember(id);
        this.#running.end();
      },
    });
    this.#turns.set(id, turn);
    this.#running.begin();
    void turn.run();
  }

  #refuse(id: bigint, error: ConnectError): void {
    this.#remember(id);
    refuse(this.#writer, id, error);
  }

  #hasEnded(id: bigint): boolean {
    return this.#endedIds.has(id) || this.#endedBefore.has(id);
  }

  #remember(id: bigint): void {
    this.#endedIds.add(id);
    if (this.#endedIds.size < ENDED_CALLS) return;
    this.#endedBefore = this.#endedIds;
    this.#endedIds = new Set();
  }

  #endStreams(): void {
    this.#stopped = true;
    for (const turn of [...this.#turns.values()]) {
      if (turn.answersMany) turn.abort(unavailable());
    }
  }

  #endAll(reason: ConnectError): void {
    for (const turn of [...this.#turns.values()]) turn.abort(reason);
  }
}

function unavailable(): ConnectError {
  return new ConnectError("the server is shutting down; connect again", Code.Unavailable);
}

function invalid(text: string): ConnectError {
  return new ConnectError(text, Code.InvalidArgument);
}
