import type { Queries } from "../../storage/database/cloud_database.ts";
import { parseDocument } from "../../fleet/configuration/config_document.ts";
import { type PartSelectors, selectorsOf } from "./selectors.ts";

/** A part, and what its present configuration says about versions. */
export interface SelectingPart {
  readonly id: string;
  readonly machineName: string;
  readonly selectors: PartSelectors;
}

interface Kept {
  readonly number: number;
  readonly selectors: PartSelectors;
}

/** Configurations read in one query. */
const SLICE = 200;

/** What parts request. Read configurations are kept, because agents ask every few seconds. */
export class SelectorsOfParts {
  readonly #kept = new Map<string, Kept>();

  constructor(private readonly queries: Queries) {}

  /** What one part requests. */
  async of(
    part: { readonly id: string; readonly revision_number: number },
  ): Promise<PartSelectors> {
    const kept = this.#kept.get(part.id);
    if (kept?.number === part.revision_number) return kept.selectors;
    await this.#load([part.id]);
    return this.#kept.get(part.id)?.selectors ?? selectorsOf({});
  }

  /** What all parts request, of every organisation. */
  async all(): Promise<SelectingPart[]> {
    const rows = await this.queries.selectFrom("parts")
      .innerJoin("machines", "machines.id", "parts.machine_id")
      .select(["parts.id", "parts.revision_number", "machines.name"]).execute();
    const present = new Set(rows.map((row) => row.id));
    for (const id of this.#kept.keys()) if (!present.has(id)) this.#kept.delete(id);
    const stale = rows.filter((row) => this.#kept.get(row.id)?.number !== row.revision_number)
      .map((row) => row.id);
    for (let at = 0; at < stale.length; at += SLICE) await this.#load(stale.slice(at, at + SLICE));
    return rows.flatMap(({ id, name }) => {
      const selectors = this.#kept.get(id)?.selectors;
      return selectors ? [{ id, machineName: name, selectors }] : [];
    });
  }

  async #load(ids: readonly string[]): Promise<void> {
    const rows = await this.queries.selectFrom("parts")
      .innerJoin("part_configs", "part_configs.part_id", "parts.id")
      .select(["parts.id", "part_configs.number", "part_configs.config"])
      .where("parts.id", "in", ids).execute();
    for (const { id, number, config } of rows) {
      this.#kept.set(id, { number, selectors: selectorsOf(parseDocument(config).value) });
    }
  }
}
