/** A short note at the edge of the page. */
export interface Toast {
  readonly text: string;
  readonly kind: "good" | "bad" | "neutral";
  /** Of a text that is not in the viewer's language: what the cloud or a machine answered. */
  readonly lang?: "en";
  /** A button on it, such as "Undo". */
  readonly action?: { readonly text: string; readonly run: () => void };
  /** Stays until it is replaced or dismissed: something continues. */
  readonly stays?: boolean;
}

const SHOWN_MS = 6_000;

class Toasts {
  shown = $state<(Toast & { readonly id: number })[]>([]);
  #next = 1;

  /**
   * Shows one.
   *
   * @param id replaces the one that an earlier call returned
   * @returns its id
   */
  show(toast: Toast, id: number = this.#next++): number {
    const others = this.shown.filter((each) => each.id !== id);
    this.shown = [...others, { ...toast, id }].slice(-4);
    if (!toast.stays) setTimeout(() => this.#expire(id, toast), SHOWN_MS);
    return id;
  }

  dismiss(id: number): void {
    this.shown = this.shown.filter((each) => each.id !== id);
  }

  #expire(id: number, toast: Toast): void {
    const current = this.shown.find((each) => each.id === id);
    if (current && current.text === toast.text && !current.stays) this.dismiss(id);
  }
}

export const toasts = new Toasts();
