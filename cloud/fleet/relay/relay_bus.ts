/** What nodes that serve together say to one another of callers and devices. */
import { Buffer } from "node:buffer";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Nodes } from "../../nodes/nodes.ts";
import type { DeviceAnswer, DeviceCalls } from "./device_calls.ts";
import type { CallerFacts, ReachedPart } from "./reaching_caller.ts";

const ANSWER_TOPIC = "relay-answer";
const CALLER_TOPIC = "relay-caller";
/** Bytes of the answers of one message to the other nodes. */
const MOST_BYTES = 128 * 1024;

/** Somebody who may call the part is about to, at another node. */
export interface ExpectedCaller {
  readonly part: ReachedPart;
  /** Left out: the call itself follows. */
  readonly ticket?: string;
  readonly facts: CallerFacts;
}

interface SentAnswer extends Omit<DeviceAnswer, "response"> {
  /** Base64. */
  readonly response: string;
}

/** A device's stream, its answers and its callers may each be at another node. */
export class RelayBus {
  readonly #subscriptions: Disposable[] = [];

  constructor(
    private readonly nodes: Nodes,
    private readonly calls: DeviceCalls,
    private readonly log: Pick<Logger, "warn">,
  ) {
    this.#listen(ANSWER_TOPIC, (payload) => {
      const { partId, answers } = payload as { partId: string; answers: SentAnswer[] };
      calls.answer(
        partId,
        answers.map((each) => ({ ...each, response: Buffer.from(each.response, "base64") })),
      );
    });
  }

  /** Takes answers of a device, for whichever node has its calls. */
  answer(partId: string, answers: readonly DeviceAnswer[]): void {
    const others = this.calls.answer(partId, answers);
    if (others.length === 0 || !this.hasOthers) return;
    let bytes = 0;
    const some: SentAnswer[] = [];
    for (const { id, code, message, response } of others) {
      bytes += response.length + message.length;
      if (bytes > MOST_BYTES) break;
      some.push({ id, code, message, response: Buffer.from(response).toString("base64") });
    }
    this.#send(ANSWER_TOPIC, { partId, answers: some });
  }

  /** Reports a caller to the other nodes: the device may be at one of them. */
  expect(caller: ExpectedCaller): void {
    if (this.hasOthers) this.#send(CALLER_TOPIC, caller);
  }

  /** Calls `listener` with the callers that other nodes report. */
  onExpected(listener: (caller: ExpectedCaller) => void): void {
    this.#listen(CALLER_TOPIC, (payload) => listener(payload as ExpectedCaller));
  }

  close(): void {
    for (const subscription of this.#subscriptions) subscription[Symbol.dispose]();
  }

  /** Whether there are other nodes. */
  get hasOthers(): boolean {
    return this.nodes.members().length > 1;
  }

  #listen(topic: string, take: (payload: unknown) => void): void {
    this.#subscriptions.push(this.nodes.bus.subscribe(topic, ({ from, payload }) => {
      if (from !== this.nodes.id) take(JSON.parse(payload));
    }));
  }

  /** What could not be sent ends where the call's deadline is exceeded. */
  #send(topic: string, payload: unknown): void {
    this.nodes.bus.publish(topic, JSON.stringify(payload)).catch((error: unknown) =>
      this.log.warn("cannot notify other nodes of a call to a device", { error: String(error) })
    );
  }
}
