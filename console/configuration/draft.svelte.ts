import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import type { RobotPart } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { type Change, difference } from "./diff.ts";
import { say } from "../texts/say.svelte.ts";
import { isObject, type JsonObject } from "./json.ts";
import { jsonProblem } from "./json_findings.ts";

/** A configuration as the cloud keeps it: its text, or its value where there is none. */
export type SavedConfig = Pick<RobotPart, "robotConfigJson" | "lastUpdated"> & {
  readonly robotConfig?: RobotPart["robotConfig"];
};

/** The saved state that a draft was made from. */
interface Base {
  readonly text: string;
  readonly value: JsonObject;
  readonly savedAt: Timestamp | undefined;
}

interface Kept {
  readonly savedAtMs: number;
  readonly base: string;
  readonly text: string;
}

/** A draft of the configuration of a part or fragment: kept in this browser until it is saved or discarded. */
export class Draft {
  #base = $state.raw<Base>({ text: "{}", value: {}, savedAt: undefined });
  /** The whole draft; form and editor are two views of it. */
  text = $state("{}");
  /** An earlier draft was found in this browser. */
  wasKept = $state(false);
  readonly #parsed = $derived(parsed(this.text));
  /** The last text that was JSON, so that the form stays while somebody types. */
  #lastValue: JsonObject = {};
  readonly value = $derived.by((): JsonObject => {
    if (this.#parsed.value) this.#lastValue = this.#parsed.value;
    return this.#lastValue;
  });
  /** Why the text is no configuration; empty: it is. */
  readonly problem = $derived(this.#parsed.problem);
  readonly changes = $derived.by((): readonly Change[] => difference(this.#base.value, this.value));
  readonly isChanged = $derived(this.problem !== "" || this.changes.length > 0);

  constructor(readonly ofId: string) {}

  get base(): Base {
    return this.#base;
  }

  /** Begins with what is saved, or with the draft of it that this browser keeps. */
  open(saved: SavedConfig): void {
    this.#base = baseOf(saved);
    this.text = this.#base.text;
    const kept = this.#kept();
    if (!kept || kept.text === this.#base.text) return;
    const base = parsed(kept.base).value;
    if (!base) return;
    this.wasKept = true;
    this.text = kept.text;
    if (saved.lastUpdated && kept.savedAtMs === timestampMs(saved.lastUpdated)) return;
    // Saved by somebody else since: the draft stays one of the older state, and saving says so.
    this.#base = {
      text: kept.base,
      value: base,
      savedAt: {
        $typeName: "google.protobuf.Timestamp",
        seconds: BigInt(Math.floor(kept.savedAtMs / 1000)),
        nanos: (kept.savedAtMs % 1000) * 1_000_000,
      },
    };
  }

  /** Whether a saved state is newer than the one that the draft was made from. */
  isOlderThan(savedAt: Timestamp | undefined): boolean {
    const base = this.#base.savedAt;
    return savedAt !== undefined && base !== undefined && timestampMs(savedAt) > timestampMs(base);
  }

  /** Shows the saved state. */
  reset(saved: SavedConfig): void {
    this.#base = baseOf(saved);
    this.text = this.#base.text;
    this.wasKept = false;
    this.keep();
  }

  /** Puts the draft on top of another saved state. */
  rebase(saved: SavedConfig, value: JsonObject): void {
    this.#base = baseOf(saved);
    this.setValue(value);
  }

  setText(text: string): void {
    this.text = text;
    this.keep();
  }

  setValue(value: JsonObject): void {
    this.setText(JSON.stringify(value, null, 2));
  }

  /** Remembers the draft in this browser, or forgets it when nothing is changed. */
  keep(): void {
    const key = `draft ${this.ofId}`;
    if (this.text === this.#base.text) return localStorage.removeItem(key);
    const { savedAt, text: base } = this.#base;
    const kept: Kept = { savedAtMs: savedAt ? timestampMs(savedAt) : 0, base, text: this.text };
    try {
      localStorage.setItem(key, JSON.stringify(kept));
    } catch {
      // The browser's storage is full: the draft lives as long as the page.
    }
  }

  /** What this browser keeps unsaved, also while the saved state cannot be read; empty: nothing. */
  get keptText(): string {
    return this.#kept()?.text ?? "";
  }

  #kept(): Kept | undefined {
    const text = localStorage.getItem(`draft ${this.ofId}`);
    return text === null ? undefined : JSON.parse(text) as Kept;
  }
}

function baseOf(saved: SavedConfig): Base {
  const text = saved.robotConfigJson || JSON.stringify(saved.robotConfig ?? {}, null, 2);
  // The cloud keeps a text as it was sent; one line is for programs.
  const value = parsed(text).value ?? {};
  const isOneLine = !text.trim().includes("\n") && text.trim().length > 2;
  return {
    text: isOneLine ? JSON.stringify(value, null, 2) : text,
    value,
    savedAt: saved.lastUpdated,
  };
}

function parsed(text: string): { readonly value?: JsonObject; readonly problem: string } {
  try {
    const value = JSON.parse(text);
    return isObject(value) ? { value, problem: "" } : { problem: "{ … }" };
  } catch (error) {
    return { problem: jsonProblem(error, say) };
  }
}
