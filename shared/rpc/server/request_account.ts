/** The share of one connection in what may wait. */
export interface RequestAccount {
  /** @throws {ConnectError} RESOURCE_EXHAUSTED when that is more than may wait. */
  take(bytes: number): void;
  give(bytes: number): void;
}
