/** Calls to devices that speak no WebRTC: the cloud answers for them and passes the calls on. */
import type { CallerFacts, ReachedPart } from "./reaching_caller.ts";
import type { RelayAnswerers } from "./relay_answerers.ts";
import { type RelayOptions, TICKET_METADATA } from "./relay_options.ts";

/** Longer than an offer lives. */
const TICKET_MS = 30_000;
const MOST_TICKETS = 4_096;

interface Ticket {
  readonly part: ReachedPart;
  readonly facts: CallerFacts;
  readonly endsMs: number;
}

/** What answers is loaded with the first caller. */
export class Relay {
  /** Oldest first. */
  readonly #tickets = new Map<string, Ticket>();
  #answerers: Promise<RelayAnswerers> | undefined;
  #closed = false;

  constructor(private readonly options: RelayOptions) {
    options.bus.onExpected(({ part, ticket, facts }) => {
      if (!options.calls.takes(part.id)) return;
      if (ticket !== undefined) this.#keep(ticket, part, facts);
      this.#expect(part);
    });
  }

  /**
   * Somebody who may call the part is about to, or calls: where its device takes calls the cloud
   * answers, at the node that the device is connected to.
   *
   * @returns metadata for the call, by which its answer knows the caller
   */
  expect(
    part: ReachedPart,
    facts: CallerFacts,
    isCall: boolean,
  ): Readonly<Record<string, string>> {
    const { bus, calls, random } = this.options;
    const ticket = isCall ? random.uuid() : undefined;
    const metadata = ticket === undefined ? {} : { [TICKET_METADATA]: ticket };
    if (!calls.takes(part.id)) {
      const { id, org_id } = part;
      bus.expect({ part: { id, org_id }, facts, ...(ticket !== undefined && { ticket }) });
      return bus.hasOthers ? metadata : {};
    }
    if (ticket !== undefined) this.#keep(ticket, part, facts);
    this.#expect(part);
    return metadata;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.options.bus.close();
    await (await this.#answerers?.catch(() => undefined))?.close();
  }

  #expect(part: ReachedPart): void {
    void this.#load().then((answerers) => answerers.wanted(part)).catch((error) =>
      this.options.log.error("calls to devices cannot be answered", {
        event: "relay_failed",
        error: String(error),
      })
    );
  }

  #keep(id: string, part: ReachedPart, facts: CallerFacts): void {
    const nowMs = this.options.clock.monotonicMs();
    for (const [old, { endsMs }] of this.#tickets) {
      if (endsMs > nowMs && this.#tickets.size < MOST_TICKETS) break;
      this.#tickets.delete(old);
    }
    this.#tickets.set(id, { part, facts, endsMs: nowMs + TICKET_MS });
  }

  #load(): Promise<RelayAnswerers> {
    if (this.#closed) return Promise.reject(new Error("the cloud is shutting down"));
    return this.#answerers ??= import("./relay_answerers.ts").then(({ RelayAnswerers }) =>
      new RelayAnswerers({ ...this.options, callerOf: (ticket) => this.#callerOf(ticket) })
    );
  }

  #callerOf(id: string): Ticket | undefined {
    const found = this.#tickets.get(id);
    return found && found.endsMs > this.options.clock.monotonicMs() ? found : undefined;
  }
}
