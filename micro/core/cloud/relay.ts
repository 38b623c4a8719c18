import type { Messages } from "../../../shared/gen/micro/messages.ts";
import type { Host } from "../host/host.ts";
import type { Input } from "../proto/codec.ts";
import { Code, RpcError, textOf, toRpcError } from "../rpc/errors.ts";
import type { Services } from "../serving/services.ts";
import type { CloudClient } from "./cloud_client.ts";

/** Largest answer. Bytes. */
export const MOST_ANSWER_BYTES = 64 * 1024;
/** Answers that wait to be sent or are on their way, together. Bytes. */
const MOST_WAITING_BYTES = 128 * 1024;
/** Those of one request to the cloud; a single one may be larger. Bytes. */
const MOST_AT_ONCE_BYTES = 32 * 1024;
const MOST_TEXT = 500;
const OWNER = 1;

type RelayedCall = Messages["machine.cloud.v1.RelayedCall"];
type CallAnswer = Input<Messages["machine.cloud.v1.CallAnswer"]> & { readonly id: number };

export interface RelayOptions {
  readonly host: Pick<Host, "log">;
  readonly client: Pick<CloudClient, "call" | "credentials">;
  readonly services: Pick<Services, "admitRelayed" | "call">;
}

/**
 * Calls that come through the cloud: each arrives on the stream of changes, which the device holds
 * open, and its answer leaves by an ordinary call. What is ready while one is under way leaves with
 * the next one.
 */
export class Relay {
  #waiting: CallAnswer[] = [];
  #bytes = 0;
  #sending = false;

  constructor(private readonly options: RelayOptions) {}

  /** Performs a call and answers it; never throws. */
  take(call: RelayedCall): void {
    void this.#perform(call).then((answer) => this.#put(answer));
  }

  async #perform(
    { id, method, request, caller, role, sessionId }: RelayedCall,
  ): Promise<CallAnswer> {
    const { services } = this.options;
    try {
      const admitted = services.admitRelayed(method, {
        entity: caller,
        role: role === OWNER ? "owner" : "operator",
      }, sessionId);
      if (request.length > admitted.most) {
        throw new RpcError("resource_exhausted", "the request is too large");
      }
      const response = await services.call(admitted, request, "proto");
      if (response.length > MOST_ANSWER_BYTES) {
        throw new RpcError("resource_exhausted", "the answer is too large to go through the cloud");
      }
      return { id, response };
    } catch (error) {
      return failed(id, toRpcError(error));
    }
  }

  #put(answer: CallAnswer): void {
    const size = answer.response?.length ?? 0;
    if (this.#bytes + size > MOST_WAITING_BYTES) {
      const full = "other answers wait for the way to the cloud";
      return this.#put(failed(answer.id, new RpcError("resource_exhausted", full)));
    }
    this.#bytes += size;
    this.#waiting.push(answer);
    if (this.#sending) return;
    this.#sending = true;
    void this.#send();
  }

  async #send(): Promise<void> {
    const { client, host } = this.options;
    while (this.#waiting.length > 0) {
      const answers = this.#next();
      try {
        await client.call("/machine.cloud.v1.MachineService/AnswerCalls", {
          partId: client.credentials.partId,
          answers,
        });
      } catch (error) {
        // Who waits for it learns from the cloud that there is no answer.
        host.log(`debug cloud: answers to calls are lost: ${textOf(error)}`);
      }
      for (const { response } of answers) this.#bytes -= response?.length ?? 0;
    }
    this.#sending = false;
  }

  #next(): CallAnswer[] {
    let size = 0;
    const count = this.#waiting.findIndex(({ response }, at) => {
      size += response?.length ?? 0;
      return at > 0 && size > MOST_AT_ONCE_BYTES;
    });
    return this.#waiting.splice(0, count < 0 ? this.#waiting.length : count);
  }
}

function failed(id: number, { code, message }: RpcError): CallAnswer {
  return { id, code: Code[code], message: message.slice(0, MOST_TEXT) };
}
