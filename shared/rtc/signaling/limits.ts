/** How much a queue holds, and how long. */
export interface CallQueueLimits {
  /** How long an offer lives, from the call to the end of the exchange. Default 10 s. */
  readonly offerMs: number;
  /** How long a call waits for somebody who answers when nobody does. Default 5 s. */
  readonly answererMs: number;
  /** Calls of one host that wait to be answered. Default 32. */
  readonly waitingCalls: number;
  /** Calls of one caller that have not ended. Default 512. */
  readonly callerCalls: number;
  /** All calls together. Default 4096. */
  readonly calls: number;
  /** Answerers that may take one call, each after another went away. Default 3. */
  readonly takers: number;
  /** Answerers of one host; the oldest that waits has to go for a new one. Default 32. */
  readonly answerers: number;
  /** Candidates that one side of a call may send. Default 128. */
  readonly candidates: number;
  /** Longest text of a candidate, in characters. Default 2048. */
  readonly candidateChars: number;
}

export const DEFAULT_LIMITS: CallQueueLimits = {
  offerMs: 10_000,
  answererMs: 5_000,
  waitingCalls: 32,
  callerCalls: 512,
  calls: 4096,
  takers: 3,
  answerers: 32,
  candidates: 128,
  candidateChars: 2048,
};
