import type { Curves } from "../../plots/curves.ts";

/** What a training reported after an epoch: numbers by name. */
export interface Epoch {
  readonly number: number;
  readonly values: Readonly<Record<string, number>>;
}

/** A name and its number: `loss 0.1`, `loss: 0.1`, `loss=0.1`. */
const PAIR = /([A-Za-z_][\w/.-]*)(?:\s*[:=]\s*|\s+)(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?![\w.])/gi;
/** `epoch 3/80`, `Epoch [3/80]`, `epoch: 3`. */
const EPOCH = /\bepoch\s*[:=#]?\s*\[?(\d+)(?:\s*(?:\/|of)\s*\d+)?\]?/i;
/** Times and the like are numbers of no measure. */
const LEFT_OUT = new Set(["epoch", "step", "seconds", "time", "eta", "lr", "learning_rate"]);
/** Longer lines are no reports. */
const LONGEST_LINE = 2_000;
const MOST_VALUES = 20;

/**
 * Collects what the lines of a log say of epochs. Reads those of managed training, `epoch 1/80 loss
 * 1.1 validation_loss 1.1 …`, and those of Keras, where the numbers come after the line of the epoch.
 */
export class EpochReader {
  #epochs: Epoch[] = [];
  /** An epoch that began, of which no number came yet. */
  #begun: number | undefined;

  /** In order; of an epoch that was reported twice, the newest. */
  get epochs(): readonly Epoch[] {
    return this.#epochs;
  }

  read(line: string): void {
    if (line.length > LONGEST_LINE) return;
    const epoch = EPOCH.exec(line);
    const number = epoch ? Number(epoch[1]) : this.#begun;
    if (number === undefined) return;
    const values = valuesOf(epoch ? line.slice(epoch.index + epoch[0].length) : line);
    if (Object.keys(values).length === 0) {
      if (epoch) this.#begun = number;
      return;
    }
    if (!epoch && !("loss" in values)) return;
    this.#begun = epoch ? undefined : this.#begun;
    // A run that started again begins with its first epoch.
    this.#epochs = [...this.#epochs.filter((each) => each.number < number), { number, values }];
  }
}

function valuesOf(text: string): Record<string, number> {
  const found: Record<string, number> = {};
  for (const [, name = "", number] of text.matchAll(PAIR)) {
    if (LEFT_OUT.has(name.toLowerCase()) || Object.keys(found).length >= MOST_VALUES) continue;
    found[name] = Number(number);
  }
  return found;
}

/** The curves of losses, or those of everything else; undefined where there are none. */
export function curves(epochs: readonly Epoch[], which: "loss" | "scores"): Curves | undefined {
  const names = [...new Set(epochs.flatMap(({ values }) => Object.keys(values)))]
    .filter((name) => /loss|cost/i.test(name) === (which === "loss"));
  if (names.length === 0) return undefined;
  const column = (name: string) => epochs.map(({ values }) => values[name] ?? null);
  const axis = "number";
  return { names, axis, columns: [epochs.map(({ number }) => number), ...names.map(column)] };
}
