import type { PartRow } from "../../accounts/access/scope.ts";
import { configWarnings } from "../configuration/config_check.ts";
import type { RecentDocuments } from "../configuration/recent_documents.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { effectiveConfig, effectiveText } from "../fragments/effective_configs.ts";

const KEPT = 500;

/** What is odd about the saved configurations of parts, read once for each revision. */
export class ConfigWarnings {
  readonly #kept = new Map<string, { readonly revision: string; readonly warnings: string[] }>();

  constructor(private readonly queries: Queries, private readonly documents: RecentDocuments) {}

  /** One sentence each; empty: nothing is odd. */
  async of(part: PartRow): Promise<readonly string[]> {
    const { revision, problem } = await effectiveConfig(this.queries, part.id);
    const known = this.#kept.get(part.id);
    const ofFragments = problem ? [`configuration: ${problem}; what was there before stays`] : [];
    if (known?.revision === revision) return [...ofFragments, ...known.warnings];
    const text = await effectiveText(this.queries, part.id);
    const warnings = configWarnings(this.documents.reading(text));
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size >= KEPT) this.#kept.delete(oldest);
    this.#kept.set(part.id, { revision, warnings });
    return [...ofFragments, ...warnings];
  }
}
