import { problemWords } from "./problem_words.ts";

/** A short note at the edge of the page. */
export interface Toast {
  readonly text: string;
  readonly kind: "good" | "bad" | "neutral";
  /** Of a text that is not in the viewer's language: what the cloud or a machine answered. */
  readonly lang?: "en";
  /** A button on it, such as "Undo". What it rejects with is shown as another note. */
  readonly action?: ToastAction;
  /** Stays until it is replaced or dismissed: something continues. */
  readonly stays?: boolean;
}

export interface ToastAction {
  readonly text: string;
  readonly run: () => void | Promise<unknown>;
  /** What it is about, for the palette; left out: the text of the note says it. */
  readonly about?: string;
  /** It goes with the note: later the page has changed too much, or somebody else what it is of. */
  readonly isBrief?: boolean;
}

/** What a note offers, or offered before it went. */
export interface Offer {
  readonly id: number;
  readonly text: string;
  readonly action: ToastAction;
}

const SHOWN_MS = 6_000;
/** A note with a button is read, thought about and then used. */
const SHOWN_WITH_ACTION_MS = 12_000;
const MOST_OFFERS = 5;

class Toasts {
  shown = $state<(Toast & { readonly id: number })[]>([]);
  /** Newest first, for the command palette. */
  offers = $state.raw<readonly Offer[]>([]);
  readonly #timers = new Map<number, ReturnType<typeof setTimeout>>();
  #next = 1;
  #isHeld = false;

  /**
   * Shows one.
   *
   * @param id replaces the one that an earlier call returned
   * @returns its id
   */
  show(toast: Toast, id: number = this.#next++): number {
    const others = this.shown.filter((each) => each.id !== id);
    this.shown = [...others, { ...toast, id }].slice(-4);
    this.offers = this.offers.filter((offer) => offer.id !== id);
    const { text, action } = toast;
    if (action && !action.isBrief) {
      this.offers = [{ id, text: action.about ?? text, action }, ...this.offers].slice(
        0,
        MOST_OFFERS,
      );
    }
    this.#expireLater(id, toast);
    return id;
  }

  dismiss(id: number): void {
    this.shown = this.shown.filter((each) => each.id !== id);
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
  }

  /** Does what a note offers; once. */
  async take(id: number, action: ToastAction): Promise<void> {
    this.dismiss(id);
    this.offers = this.offers.filter((offer) => offer.id !== id);
    try {
      await action.run();
    } catch (error) {
      this.show({ kind: "bad", ...problemWords(error) });
    }
  }

  /** While somebody is at the notes, or nobody sees the page, none goes. */
  hold(isHeld: boolean): void {
    if (isHeld === this.#isHeld) return;
    this.#isHeld = isHeld;
    for (const toast of this.shown) this.#expireLater(toast.id, toast);
  }

  /** Another person may sit here next. */
  forget(): void {
    for (const { id } of this.shown) this.dismiss(id);
    this.offers = [];
  }

  #expireLater(id: number, { action, stays }: Toast): void {
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
    if (stays || this.#isHeld) return;
    const afterMs = action ? SHOWN_WITH_ACTION_MS : SHOWN_MS;
    this.#timers.set(id, setTimeout(() => this.dismiss(id), afterMs));
  }
}

export const toasts = new Toasts();
