import { type ProblemWords, problemWords } from "../../../design/problem_words.ts";
import type { MachineLink } from "../../../reach/machine_link.svelte.ts";
import type { Component } from "svelte";

/** What the card of a resource gets. */
export interface CardProps {
  readonly link: MachineLink;
  /** Of the resource, as calls have it. */
  readonly name: string;
  /** `sensor`, `motor` … */
  readonly subtype: string;
  /** The card can be seen: it may ask the machine again and again. */
  readonly active: boolean;
  /** Runs what the person wants, and shows how it went. */
  readonly calls: CardCalls;
}

export type Card = Component<CardProps>;

/** Calls that a person makes from one card. */
export class CardCalls {
  /** How many are under way. */
  running = $state(0);
  /** Of the newest call, until the next one begins. */
  error = $state<string>();
  #newest = 0;

  /** Shows what is wrong with what is to be sent, which is not sent. */
  refuse(problem: string): void {
    this.#newest++;
    this.error = problem;
  }

  /** Runs a call. Never rejects: what went wrong is shown in the card. */
  async run<T>(call: () => Promise<T>): Promise<T | undefined> {
    const own = ++this.#newest;
    this.running++;
    this.error = undefined;
    try {
      return await call();
    } catch (error) {
      if (own === this.#newest) this.error = problemWords(error).text;
      return undefined;
    } finally {
      this.running--;
    }
  }
}

const LONGEST_PAUSE_MS = 8_000;

/**
 * Asks again and again, each time `everyMs` after the last answer, until the returned function is
 * called; more seldom while it fails, and not while the page is hidden.
 *
 * @param ask may still run after that, when its card is gone: it takes its client before
 */
export function poll(
  ask: () => Promise<void>,
  everyMs: number,
  failed: (error: ProblemWords | undefined) => void = () => undefined,
): () => void {
  let isOver = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let pauseMs = everyMs;
  const go = async (): Promise<void> => {
    try {
      if (!document.hidden) {
        await ask();
        if (!isOver) failed(undefined);
      }
      pauseMs = everyMs;
    } catch (error) {
      if (!isOver) failed(problemWords(error));
      pauseMs = Math.min(Math.max(pauseMs, 500) * 2, LONGEST_PAUSE_MS);
    }
    if (!isOver) timer = setTimeout(() => void go(), pauseMs);
  };
  void go();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
