/** A process that serves, as others see it. */
export interface NodeDescription {
  /** Another one for each process. */
  readonly id: string;
  /** Name of its host. */
  readonly host: string;
  /** Where it listens, `HOST:PORT`. */
  readonly address: string;
  /** Of the program. */
  readonly version: string;
}

/** A node that has been noted. */
export interface NotedNode extends NodeDescription {
  /** For how long it has not been seen, by the clock of the database. */
  readonly silentMs: number;
}

/** What a node learns with each beat. */
export interface Beat {
  readonly wasNoted: boolean;
  readonly nodes: readonly NotedNode[];
  readonly nowMs: number;
}

/** One message of a node to others. */
export interface OutgoingMessage {
  /** Node that it is for; undefined: all. */
  readonly to: string | undefined;
  readonly topic: string;
  readonly payload: string;
}

export interface StoredMessage {
  readonly seq: number;
  /** No other message has the same one. */
  readonly key: string;
  readonly from: string;
  /** Undefined: it is for others, or of this node itself. */
  readonly message: { readonly topic: string; readonly payload: string } | undefined;
}

/**
 * What the nodes of a cloud know of each other, in their database. All reject when that cannot be
 * reached.
 */
export interface NodeStore extends AsyncDisposable {
  /** Identifies this process in all connections that it has to the database. */
  readonly processId: string;

  /**
   * Notes that a node is there.
   *
   * @returns whether it was noted already, all that are noted, and the time of the database,
   * milliseconds since 1970
   */
  beat(node: NodeDescription): Promise<Beat>;

  /** Forgets a node, and ends every connection that it still has to the database. */
  evict(nodeId: string): Promise<void>;

  /** Forgets this node, which goes. */
  leave(): Promise<void>;

  /**
   * Takes the lock of the leader, which is held until {@link reset} or until its connection ends.
   *
   * @param lost called when it ends
   * @returns number of the term, which no other leader has; undefined: another node leads
   */
  lead(lost: () => void): Promise<number | undefined>;

  /** Closes the connection of {@link beat} and {@link lead}, which are made again when needed. */
  reset(): void;

  /** Where {@link read} begins for a node that comes now. */
  end(): Promise<number>;

  /** Sends messages, in this order. */
  send(messages: readonly OutgoingMessage[]): Promise<void>;

  /** Messages after a number, oldest first, at most `limit`. */
  read(after: number, limit: number): Promise<readonly StoredMessage[]>;

  /** Calls `heard` when there may be messages; `again` after the connection was made again. */
  listen(heard: (again: boolean) => void): Disposable;

  /** Deletes messages that were sent longer ago. */
  prune(olderThanMs: number): Promise<void>;
}
