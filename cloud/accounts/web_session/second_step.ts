import { alphanumeric, systemRandom } from "../../storage/keys/random.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";

const COUNTS_FOR_MS = 5 * 60_000;
const MOST = 1_000;
const TOKEN_LENGTH = 40;

/** What waits for a person's next step, by a token that only their page knows. In memory. */
export class SecondStep<Value> {
  readonly #waiting = new Map<string, { readonly value: Value; readonly until: number }>();

  constructor(private readonly clock: Clock) {}

  /** When too many wait the oldest ends. */
  add(value: Value): string {
    const token = alphanumeric(systemRandom, TOKEN_LENGTH);
    this.#waiting.set(token, { value, until: this.clock.monotonicMs() + COUNTS_FOR_MS });
    const [oldest] = this.#waiting.keys();
    if (this.#waiting.size > MOST && oldest !== undefined) this.#waiting.delete(oldest);
    return token;
  }

  of(token: string): Value | undefined {
    const entry = this.#waiting.get(token);
    return entry && entry.until > this.clock.monotonicMs() ? entry.value : undefined;
  }

  end(token: string): void {
    this.#waiting.delete(token);
  }
}
