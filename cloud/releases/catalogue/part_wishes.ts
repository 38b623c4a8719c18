import type { Queries } from "../../storage/database/cloud_database.ts";
import { parseDocument } from "../../fleet/configuration/config_document.ts";
import { type PartWishes, wishesOf } from "./wishes.ts";

/** A part, and what its present configuration says about versions. */
export interface WishingPart {
  readonly id: string;
  readonly machineName: string;
  readonly wishes: PartWishes;
}

interface Kept {
  readonly number: number;
  readonly wishes: PartWishes;
}

/** Configurations read in one query. */
const SLICE = 200;

/** What parts request. Read configurations are kept, because agents ask every few seconds. */
export class WishesOfParts {
  readonly #kept = new Map<string, Kept>();

  constructor(private readonly queries: Queries) {}

  /** What one part requests. */
  async of(part: { readonly id: string; readonly revision_number: number }): Promise<PartWishes> {
    const kept = this.#kept.get(part.id);
    if (kept?.number === part.revision_number) return kept.wishes;
    await this.#load([part.id]);
    return this.#kept.get(part.id)?.wishes ?? wishesOf({});
  }

  /** What all parts request, of every organisation. */
  async all(): Promise<WishingPart[]> {
    const rows = await this.queries.selectFrom("parts")
      .innerJoin("machines", "machines.id", "parts.machine_id")
      .select(["parts.id", "parts.revision_number", "machines.name"]).execute();
    const present = new Set(rows.map((row) => row.id));
    for (const id of this.#kept.keys()) if (!present.has(id)) this.#kept.delete(id);
    const stale = rows.filter((row) => this.#kept.get(row.id)?.number !== row.revision_number)
      .map((row) => row.id);
    for (let at = 0; at < stale.length; at += SLICE) await this.#load(stale.slice(at, at + SLICE));
    return rows.flatMap(({ id, name }) => {
      const wishes = this.#kept.get(id)?.wishes;
      return wishes ? [{ id, machineName: name, wishes }] : [];
    });
  }

  async #load(ids: readonly string[]): Promise<void> {
    const rows = await this.queries.selectFrom("parts")
      .innerJoin("part_configs", "part_configs.part_id", "parts.id")
      .select(["parts.id", "part_configs.number", "part_configs.config"])
      .where("parts.id", "in", ids).execute();
    for (const { id, number, config } of rows) {
      this.#kept.set(id, { number, wishes: wishesOf(parseDocument(config).value) });
    }
  }
}
