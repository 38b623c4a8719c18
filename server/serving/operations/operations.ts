/** The calls being answered at the moment: listed, cancelled and waited for by id. */
import {
  Code,
  ConnectError,
  type ContextKey,
  type ContextValues,
  createContextKey,
} from "@connectrpc/connect";
import type { Call, Interceptor } from "../../../shared/rpc/server/interceptor.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";

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

/** Request metadata: the operation that a call belongs to. */
const OPERATION_HEADER = "opid";

/** Calls that would cancel or wait for themselves when they carry the id that they ask about. */
const ABOUT_OPERATIONS: ReadonlySet<string> = new Set([
  "/viam.robot.v1.RobotService/BlockForOperation",
  "/viam.robot.v1.RobotService/CancelOperation",
]);

const givenIdKey: ContextKey<string> = createContextKey<string>("", {
  description: "id of an operation whose caller sent none",
});

/**
 * The id of the operation that a call is: what its caller sent, else one that stays the same for
 * the call. For calls that are made on its behalf.
 */
export function operationId(
  { requestHeader, values }: { readonly requestHeader: Headers; readonly values: ContextValues },
): string {
  const sent = requestHeader.get(OPERATION_HEADER);
  if (sent) return sent;
  if (values.get(givenIdKey) === "") values.set(givenIdKey, crypto.randomUUID());
  return values.get(givenIdKey);
}

/** Seen by every call, so it makes nothing that only a listing needs. */
class RunningCall implements Operation {
  #ended: PromiseWithResolvers<void> | undefined;

  constructor(private readonly call: Call, readonly started: Date) {}

  get id(): string {
    return operationId(this.call);
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
   * Aborts the signals of all calls of the operation: a call that a module makes while it answers
   * one carries the same id.
   *
   * @throws {ConnectError} NOT_FOUND
   */
  cancel(id: string): void {
    const calls = this.#find(id);
    if (calls.length === 0) {
      throw new ConnectError(`there is no running operation with id ${id}`, Code.NotFound);
    }
    for (const call of calls) call.cancel();
  }

  /** Resolves when the calls of the operation have ended; at once when none is running. */
  async wait(id: string): Promise<void> {
    await Promise.all(this.#find(id).map(({ ended }) => ended));
  }

  #find(id: string): RunningCall[] {
    return [...this.#running.values()]
      .filter((call) => call.id === id && !ABOUT_OPERATIONS.has(call.method));
  }
}
