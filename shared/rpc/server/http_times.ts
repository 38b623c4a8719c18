/** How long a connection over HTTP/1.1 may take for the headers of a request, and between requests. */
import { PatientTimer } from "../patient_timer.ts";
import type { ConnectionLimits } from "./connection_limits.ts";

export interface HttpTimesOptions {
  readonly limits: Pick<ConnectionLimits, "headersMs" | "idleMs">;
  /** Called once, when the caller has taken too long. */
  readonly onLate: () => void;
}

/**
 * The bodies of requests are timed where they are read (`paced_body.ts`); answers may take as long
 * as they like. Begins with the first bytes of a request.
 */
export class HttpTimes {
  #requests = 0;
  #idle = false;
  #timer: PatientTimer | undefined;

  constructor(private readonly options: HttpTimesOptions) {
    this.#wait(options.limits.headersMs);
  }

  /** Bytes have come of the caller. */
  bytes(): void {
    if (!this.#idle) return;
    this.#idle = false;
    this.#wait(this.options.limits.headersMs);
  }

  /** The headers of a request are there. */
  began(): void {
    this.#requests++;
    this.end();
  }

  /** A request was answered. */
  ended(): void {
    if (--this.#requests > 0) return;
    this.#idle = true;
    this.#wait(this.options.limits.idleMs);
  }

  /** Waits for nothing any more. */
  end(): void {
    this.#idle = false;
    this.#timer?.cancel();
  }

  #wait(ms: number): void {
    this.#timer?.cancel();
    this.#timer = new PatientTimer(ms, this.options.onLate);
  }
}
