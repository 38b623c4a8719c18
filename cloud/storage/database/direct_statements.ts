/**
 * Single statements on PostgreSQL, next to the cloud's transactions: each is a transaction of its
 * own, and waits for no other writer. Whole numbers beyond 2^53 must be selected as text. All
 * reject with {DatabaseUnreachableError} when the database cannot be reached.
 */
export interface DirectStatements {
  /** @returns the rows */
  query<R extends object>(sql: string, values?: readonly unknown[]): Promise<R[]>;

  /** Several statements without parameters, all or none. */
  script(sql: string): Promise<void>;

  /**
   * One statement outside of any transaction, on a connection of its own, however long it takes. It
   * rejects when the signal aborts; the database may complete it all the same.
   */
  alone(sql: string, signal?: AbortSignal): Promise<void>;

  /** Resolves when everything that was committed before is on the disk. */
  settle(): Promise<void>;
}
