import { type ConfigReading, readConfigOnce } from "../../../shared/config/reading.ts";
import { type ConfigDocument, parseDocument } from "./config_document.ts";

interface ReadDocument {
  readonly document: ConfigDocument;
  reading: ConfigReading | undefined;
}

const MOST_DOCUMENTS = 50;
/** Characters of their texts in all. */
const MOST_CHARACTERS = 2 * 1024 * 1024;

/**
 * Configurations that were read of late, by their text: a save checks one, looks for what is odd in
 * it, and the machine fetches it, all within milliseconds.
 */
export class RecentDocuments {
  readonly #byText = new Map<string, ReadDocument>();
  #characters = 0;

  /**
   * Reads a document that somebody sent, and keeps it; one of so many problems is not kept, as it
   * was not read to its end.
   */
  keep(document: ConfigDocument, mostProblems: number): ConfigReading {
    const known = this.#byText.get(document.text)?.reading;
    const reading = known ?? readConfigOnce(document.value, mostProblems);
    if (reading.problems.length >= mostProblems) return reading;
    const found = this.#find(document.text, () => document);
    return found.reading ??= reading;
  }

  /** What was read of a text; reads it when it was not. */
  reading(text: string): ConfigReading {
    const found = this.#find(text, () => parseDocument(text));
    return found.reading ??= readConfigOnce(found.document.value);
  }

  #find(text: string, make: () => ConfigDocument): ReadDocument {
    const known = this.#byText.get(text);
    const found = known ?? { document: make(), reading: undefined };
    // The newest is the last.
    if (known) this.#byText.delete(text);
    else this.#characters += text.length;
    this.#byText.set(text, found);
    for (const oldest of this.#byText.keys()) {
      const isMuch = this.#characters > MOST_CHARACTERS || this.#byText.size > MOST_DOCUMENTS;
      if (!isMuch || oldest === text) break;
      this.#byText.delete(oldest);
      this.#characters -= oldest.length;
    }
    return found;
  }
}
