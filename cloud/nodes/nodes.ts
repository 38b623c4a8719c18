import type { Logger } from "../../shared/log/logger.ts";
import type { NodeDescription } from "../storage/database/node_store.ts";
import { ALWAYS_LEADER, type Leadership } from "./leadership.ts";
import { LocalBus, type NodeBus } from "./node_bus.ts";

/** A node came or went. */
export interface NodeChange {
  readonly id: string;
  /**
   * `joined`; `left`: it said so, or others saw first that it died; `died`: it has not been seen for
   * seconds, and has no connection to the database any more.
   * `back`: this node itself was not seen by the others, who count it as dead, and is there again;
   * what it knew of others may be old, and messages may be missing.
   */
  readonly kind: "joined" | "left" | "died" | "back";
}

/** The processes that serve one cloud together, with one database. */
export interface Nodes {
  /** This node. */
  readonly id: string;
  readonly bus: NodeBus;
  readonly leadership: Leadership;
  /** Those that are there, this one too. */
  members(): readonly NodeDescription[];
  isMember(id: string): boolean;
  /** Calls `listener` when a node comes or goes, until the result is disposed of. */
  listen(listener: (change: NodeChange) => void): Disposable;
  /** Leaves: another node leads, and the others know that this one is gone. */
  close(): Promise<void>;
}

/** This process serves alone. */
export class LocalNodes implements Nodes {
  readonly bus: NodeBus;
  readonly leadership: Leadership = ALWAYS_LEADER;

  constructor(
    log: Pick<Logger, "error">,
    private readonly self: NodeDescription = { id: "local", host: "", address: "", version: "" },
  ) {
    this.bus = new LocalBus(self.id, log);
  }

  get id(): string {
    return this.self.id;
  }

  members(): readonly NodeDescription[] {
    return [this.self];
  }

  isMember(id: string): boolean {
    return id === this.id;
  }

  listen(): Disposable {
    return { [Symbol.dispose]: () => undefined };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
