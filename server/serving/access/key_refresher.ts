/** Keeps fresh what the cloud reports of who may open the machine. */
import { type Client, Code, ConnectError } from "@connectrpc/connect";
import type { MachineService } from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import { type CloudAccess, cloudAccess, sameAccess } from "./cloud_access.ts";
import type { KeyStore } from "./key_store.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";
import { Watched } from "../../../shared/workers/watched.ts";

/** Time between two requests without a push. Milliseconds. */
const REFRESH_MS = 60_000;
const READ_TIMEOUT_MS = 10_000;

export interface KeyRefresherOptions {
  client: Pick<Client<typeof MachineService>, "listAccessKeys">;
  partId: string;
  store: KeyStore;
  clock: Clock;
  log: Logger;
  /** Called when the answer differs from the one before. */
  onChange: (access: CloudAccess) => void;
}

export class KeyRefresher {
  #access: CloudAccess;
  readonly #asked = new Watched(0);
  #unsupported = false;

  constructor(private readonly options: KeyRefresherOptions) {
    this.#access = options.store.load();
  }

  /** What the cloud reported last. */
  get access(): CloudAccess {
    return this.#access;
  }

  /** Asks now instead of at the next turn. */
  refresh(): void {
    this.#asked.value++;
  }

  /** Asks once; failures are logged, the keys of before stay. */
  async ask(signal?: AbortSignal): Promise<void> {
    const { client, partId, log } = this.options;
    try {
      const answer = await client.listAccessKeys({ partId }, {
        timeoutMs: READ_TIMEOUT_MS,
        ...(signal && { signal }),
      });
      this.#take(cloudAccess(answer));
    } catch (error) {
      if (error instanceof ConnectError && error.code === Code.Unimplemented) {
        this.#unsupported = true;
        return;
      }
      log.debug(`the access keys could not be fetched: ${reasonOf(error)}`);
    }
  }

  /** Asks until the signal aborts, or the cloud reports that it has no such list. */
  async run(signal: AbortSignal): Promise<void | "done"> {
    if (this.#unsupported) return "done";
    const turn = async () => {
      await this.ask(signal);
      if (this.#unsupported) return "done";
    };
    const changes = [this.#asked];
    const waits = {
      clock: this.options.clock,
      intervalMs: REFRESH_MS,
      firstMs: REFRESH_MS,
      changes,
    };
    return await pollLoop(turn, waits, signal);
  }

  #take(access: CloudAccess): void {
    if (sameAccess(access, this.#access)) return;
    this.#access = access;
    try {
      this.options.store.replace(access);
    } catch (error) {
      this.options.log.error(
        `the access keys cannot be kept for the time without a cloud: ${reasonOf(error)}`,
        { event: "state_not_written" },
      );
    }
    this.options.onChange(access);
  }
}
