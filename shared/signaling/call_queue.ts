import type { Clock } from "../time/clock.ts";

export interface CallQueueOptions {
  readonly clock: Clock;
  /** A fresh identifier for a call. */
  readonly uuid: () => string;
}

/** Brings those who call and those who answer together, in memory. */
export declare class CallQueue {
  constructor(options: CallQueueOptions);
  /** Ends all calls and waiting answerers with UNAVAILABLE. */
  close(): void;
}
