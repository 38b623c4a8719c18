import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError } from "@connectrpc/connect";
import {
  type AnswerRequest,
  type AnswerResponse,
  AnswerResponseSchema,
  type SignalingService,
} from "../../gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import type { Clock, Timer } from "../../base/time/clock.ts";
import { linkedController } from "../../base/time/linked_controller.ts";
import { Outbox } from "./outbox.ts";
import { HEARTBEATS_ALLOWED, RPC_HOST } from "./rpc_host.ts";

/** Three heartbeats of a signaller that did not come: the stream is dead. */
const NO_HEARTBEAT_MS = 45_000;

export interface AnswerStreamOptions {
  readonly client: Client<typeof SignalingService>;
  readonly hosts: readonly string[];
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** One Answer stream, from the machine's side. */
export class AnswerStream {
  /** It has brought a heartbeat. */
  hasBeaten = false;
  readonly #requests: AsyncIterator<AnswerRequest>;
  #ended = false;

  private constructor(
    requests: AsyncIterable<AnswerRequest>,
    private readonly outbox: Outbox<AnswerResponse>,
    private readonly controller: AbortController,
    private readonly clock: Clock,
  ) {
    this.#requests = requests[Symbol.asyncIterator]();
  }

  static open({ client, hosts, clock, signal }: AnswerStreamOptions): AnswerStream {
    const outbox = new Outbox<AnswerResponse>();
    const controller = linkedController(signal);
    const headers = new Headers({ [HEARTBEATS_ALLOWED]: "true" });
    for (const host of hosts) headers.append(RPC_HOST, host);
    const requests = client.answer(messagesOf(outbox), { headers, signal: controller.signal });
    return new AnswerStream(requests, outbox, controller, clock);
  }

  /**
   * The offer that the stream brings; undefined when it ends without one.
   *
   * @throws {ConnectError} how the stream failed; UNAVAILABLE when heartbeats stay away.
   */
  async offer(
    options: { readonly beatsExpected: boolean; readonly onBeat: () => void },
  ): Promise<AnswerRequest | undefined> {
    let watch = options.beatsExpected ? this.#watch() : undefined;
    try {
      for (;;) {
        const request = await this.next();
        if (request?.stage.case !== "heartbeat") return request;
        this.hasBeaten = true;
        watch?.cancel();
        watch = this.#watch();
        options.onBeat();
      }
    } finally {
      watch?.cancel();
    }
  }

  /** What the signaller sends next; undefined at the end. @throws {ConnectError} */
  async next(): Promise<AnswerRequest | undefined> {
    if (this.#ended) return undefined;
    try {
      const { done, value } = await this.#requests.next();
      if (!done) return value;
    } catch (error) {
      this.#ended = true;
      const { signal } = this.controller;
      throw ConnectError.from(signal.aborted ? signal.reason : error);
    }
    this.#ended = true;
    return undefined;
  }

  /** Does nothing after {@link finish} and {@link close}. */
  send(uuid: string, stage: NonNullable<MessageInitShape<typeof AnswerResponseSchema>["stage"]>) {
    this.outbox.put(create(AnswerResponseSchema, { uuid, stage }));
  }

  /** Nothing more is sent; what the signaller has to say still comes. */
  finish(): void {
    this.outbox.end();
  }

  close(): void {
    this.outbox.end();
    this.#ended = true;
    this.controller.abort(new ConnectError("the stream is closed", Code.Canceled));
  }

  #watch(): Timer {
    return this.clock.setTimer(
      NO_HEARTBEAT_MS,
      () =>
        this.controller.abort(
          new ConnectError(
            `the signaller sent no heartbeat for ${NO_HEARTBEAT_MS / 1_000} s`,
            Code.Unavailable,
          ),
        ),
    );
  }
}

async function* messagesOf<T>(outbox: Outbox<T>): AsyncGenerator<T> {
  for (;;) {
    const next = await outbox.next();
    if (next === "end") return;
    if (next !== "quiet") yield next.message;
  }
}
