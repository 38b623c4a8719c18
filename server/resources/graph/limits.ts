/** Times and bounds of the graph. */
export interface ResourceLimits {
  /** A constructor that takes longer has failed. Milliseconds. */
  readonly buildTimeoutMs: number;
  /** A close that takes longer is left alone. Milliseconds. */
  readonly closeTimeoutMs: number;
  /** From a failure to the next attempt. Milliseconds. */
  readonly retryMs: number;
  /** Constructors at work at the same time. */
  readonly concurrentBuilds: number;
  /** Calls that one resource answers at the same time. */
  readonly concurrentCalls: number;
  /** How long resources that wait for a module hold up {@link ResourceManager.apply}. Milliseconds. */
  readonly pendingMs: number;
}

/** The reference server's figures; see machine-server.md §3 and §5.3. */
export const DEFAULT_LIMITS: ResourceLimits = {
  buildTimeoutMs: 120_000,
  closeTimeoutMs: 30_000,
  retryMs: 5_000,
  concurrentBuilds: 10,
  concurrentCalls: 100,
  // Ours: as long as a module usually takes to start on a slow board.
  pendingMs: 30_000,
};
