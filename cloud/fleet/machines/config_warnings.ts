import type { PartRow } from "../../accounts/access/scope.ts";
import { configWarnings } from "./config_check.ts";
import { parseDocument } from "./config_document.ts";
import type { Revisions } from "./revisions.ts";

const KEPT = 500;

/** What is odd about the saved configurations of parts, read once for each revision. */
export class ConfigWarnings {
  readonly #kept = new Map<string, { readonly revision: string; readonly warnings: string[] }>();

  constructor(private readonly revisions: Pick<Revisions, "current">) {}

  /** One sentence each; empty: nothing is odd. */
  async of(part: PartRow): Promise<readonly string[]> {
    const { revision, config } = await this.revisions.current(part);
    const known = this.#kept.get(part.id);
    if (known?.revision === revision) return known.warnings;
    const warnings = configWarnings(parseDocument(config).value);
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size >= KEPT) this.#kept.delete(oldest);
    this.#kept.set(part.id, { revision, warnings });
    return warnings;
  }
}
