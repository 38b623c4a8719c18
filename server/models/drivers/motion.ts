/** One movement at a time: a newer command ends the one before. */
import { Code, ConnectError } from "@connectrpc/connect";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import type { CallContext } from "../../resources/graph/resource.ts";

/** A movement that a newer command has ended; its caller gets an answer, no error. */
class Superseded extends Error {
  override readonly name = "Superseded";
}

/** See above. */
export class Motion {
  #current: AbortController | undefined;

  /** Ends what is under way. */
  end(): void {
    this.#current?.abort(new Superseded("a newer command has taken over"));
    this.#current = undefined;
  }

  /** True while something is under way. */
  get active(): boolean {
    return this.#current !== undefined;
  }

  /**
   * Runs a movement in place of the one before.
   *
   * @param move ends early when the signal aborts.
   * @param halt stops what moves; called when the movement fails or its caller leaves, not when a
   * newer command takes over.
   */
  async run(
    call: CallContext,
    move: (signal: AbortSignal) => Promise<void>,
    halt: () => void | Promise<void>,
  ): Promise<void> {
    this.end();
    const controller = this.#current = linkedController(call.signal);
    try {
      await move(controller.signal);
    } catch (error) {
      if (controller.signal.reason instanceof Superseded) return;
      await halt();
      throw error;
    } finally {
      if (this.#current === controller) this.#current = undefined;
      controller.abort(new Superseded("done"));
    }
  }

  /** Runs in the background; `failed` is notified of errors, after `halt`. */
  start(
    move: (signal: AbortSignal) => Promise<void>,
    halt: () => void | Promise<void>,
    failed: (error: unknown) => void,
  ): void {
    this.run({ signal: new AbortController().signal }, move, halt).catch(failed);
  }
}

/** What is no number would stay in a position permanently. @throws {ConnectError} */
export function finite(value: number, field: string): number {
  if (Number.isFinite(value)) return value;
  throw new ConnectError(`${field} is ${value}; it must be a finite number`, Code.InvalidArgument);
}
