/** Answers queries on one link: not too soon, not too often, and with all that the asker knows. */
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import type { Heard, Said, Sender } from "./mdns_message.ts";
import type { Instance } from "./records.ts";
import { replies, type Reply } from "./responder.ts";

/** What is sent to all is not repeated to all before; RFC 6762, 6. Milliseconds. */
const REPEAT_MS = 1_000;
/** How long the rest of what an asker knows is awaited; RFC 6762, 7.2. Milliseconds. */
const MORE_KNOWN = { fromMs: 400, spreadMs: 100 };
/** So that not all that answer speak at once; RFC 6762, 6. Milliseconds. */
const SHARED_DELAY = { fromMs: 20, spreadMs: 100 };
/** Messages in a second; a flood of queries gets no flood of answers. */
const MOST_PER_SECOND = 50;
/** Askers whose further messages are awaited at a time. */
const MOST_WAITING = 32;

export interface AnswersOptions {
  /** What is announced now; empty while it is not. */
  readonly instances: () => readonly Instance[];
  readonly send: (message: Said, to?: Sender) => void;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
}

export class Answers {
  /** What was sent to all, and when. */
  readonly #sent = new Map<string, number>();
  readonly #waiting = new Map<string, Heard>();
  readonly #timers = new Set<Timer>();
  #left = MOST_PER_SECOND;
  #countedAt = 0;

  constructor(private readonly options: AnswersOptions) {}

  /** Takes one message of an asker. */
  heard(query: Heard, from: Sender): void {
    const key = `${from.address}:${from.port}`;
    const waiting = this.#waiting.get(key);
    if (waiting) {
      this.#waiting.set(key, joined(waiting, query));
    } else if (query.flag_tc && this.#waiting.size < MOST_WAITING) {
      this.#waiting.set(key, query);
      this.#later(MORE_KNOWN, () => {
        const whole = this.#waiting.get(key);
        this.#waiting.delete(key);
        if (whole) this.#answer(whole, from);
      });
    } else {
      this.#answer(query, from);
    }
  }

  /** Nothing is sent after this. */
  close(): void {
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
    this.#waiting.clear();
  }

  #answer(query: Heard, from: Sender): void {
    for (const reply of replies(query, from, this.options.instances())) {
      if (reply.isShared) this.#later(SHARED_DELAY, () => this.#send(reply, from));
      else this.#send(reply, from);
    }
  }

  #send(reply: Reply, from: Sender): void {
    if (!this.#mayGo()) return;
    const { send } = this.options;
    if (reply.to === "sender" || this.#wasSent(reply)) send(reply.message, from);
    else send(reply.message);
  }

  /** Who has just begun to listen has not received it: it gets the answer alone. */
  #wasSent({ message: { answers = [] }, isDefence }: Reply): boolean {
    if (isDefence) return false;
    const now = this.options.clock.monotonicMs();
    for (const [key, at] of this.#sent) if (now - at >= REPEAT_MS) this.#sent.delete(key);
    const key = JSON.stringify(answers);
    if (this.#sent.has(key)) return true;
    this.#sent.set(key, now);
    return false;
  }

  #mayGo(): boolean {
    const now = this.options.clock.monotonicMs();
    if (now - this.#countedAt >= 1_000) {
      this.#countedAt = now;
      this.#left = MOST_PER_SECOND;
    }
    return this.#left-- > 0;
  }

  #later({ fromMs, spreadMs }: { fromMs: number; spreadMs: number }, run: () => void): void {
    const { clock, random } = this.options;
    const timer = clock.setTimer(fromMs + random() * spreadMs, () => {
      this.#timers.delete(timer);
      run();
    });
    this.#timers.add(timer);
  }
}

function joined(first: Heard, more: Heard): Heard {
  return {
    ...first,
    questions: [...first.questions ?? [], ...more.questions ?? []],
    answers: [...first.answers ?? [], ...more.answers ?? []],
  };
}
