/** The calls being answered at the moment: listed, cancelled and waited for by id. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Call, Interceptor } from "../../shared/rpc/interceptor.ts";
import type { Clock } from "../../shared/time/clock.ts";

/** A call being answered. */
export interface Operation {
  /** What the caller sent as `opid`, or an id given here. */
  readonly id: string;
  /** `/package.Service/Method` */
  readonly method: string;
  readonly started: Date;
  /** What the caller sent as `viam-sid`; empty without one. */
  readonly sessionId: string;
}

/** Seen by every call, so it makes nothing that only a listing needs. */
class RunningCall implements Operation {
  #id: string | undefined;
  #ended: PromiseWithResolvers<void> | undefined;

  constructor(private readonly call: Call, readonly started: Date) {}

  get id(): string {
    return this.#id ??= this.call.header("opid") || crypto.randomUUID();
  }
  get method(): string {
    return this.call.path;
  }
  get sessionId(): string {
    return this.call.header("viam-sid") ?? "";
  }
  get ended(): Promise<void> {
    return (this.#ended ??= Promise.withResolvers()).promise;
  }
  cancel(): void {
    this.call.abort(new ConnectError("the operation was cancelled", Code.Canceled));
  }
  end(): void {
    this.#ended?.resolve();
  }
}

/** Keeps the running calls. Mount {@link Operations.interceptor} on the server. */
export class Operations {
  readonly #running = new Map<Call, RunningCall>();

  constructor(private readonly clock: Clock) {}

  readonly interceptor: Interceptor = {
    before: (call) => void this.#running.set(call, new RunningCall(call, this.clock.now())),
    after: (call) => {
      this.#running.get(call)?.end();
      this.#running.delete(call);
    },
  };

  /** Calls at work, oldest first. */
  list(): Operation[] {
    return [...this.#running.values()];
  }

  /**
   * Aborts the call's signal.
   *
   * @throws {ConnectError} NOT_FOUND
   */
  cancel(id: string): void {
    this.#find(id).cancel();
  }

  /**
   * Resolves when the call has ended.
   *
   * @throws {ConnectError} NOT_FOUND
   */
  wait(id: string): Promise<void> {
    return this.#find(id).ended;
  }

  #find(id: string): RunningCall {
    for (const call of this.#running.values()) if (call.id === id) return call;
    throw new ConnectError(`there is no running operation with id ${id}`, Code.NotFound);
  }
}
