import type { Document } from "bson";
import { SOURCE_COLUMNS } from "./readings_view.ts";

/** Which readings a query looks at: it may look at fewer, never at others. */
export interface Narrowing {
  /** Columns of a source, and the texts of which each has one. */
  readonly texts: ReadonlyMap<string, readonly string[]>;
  /** Least and most of `received_us`; both belong to it. */
  readonly fromUs: number;
  readonly toUs: number;
  /** Tags that their uploads have, all of them. */
  readonly tags: readonly string[];
}

/** What a query needs of the readings. */
export interface Needs {
  /** It looks at the readings of any of these; none: at no readings. */
  readonly looks: readonly Narrowing[];
  /** It uses the column of that name. */
  readonly data: boolean;
  /** It uses columns that are those of uploads. */
  readonly uploads: boolean;
}

/** A narrowing that is being found out. */
export class NarrowingBuilder implements Narrowing {
  readonly texts = new Map<string, readonly string[]>();
  fromUs = -Infinity;
  toUs = Infinity;
  readonly tags: string[] = [];

  isOneOf(column: string, texts: readonly string[]): void {
    const before = this.texts.get(column);
    this.texts.set(column, before ? before.filter((text) => texts.includes(text)) : [...texts]);
  }

  atLeast(us: number): void {
    if (Math.abs(us) <= Number.MAX_SAFE_INTEGER) this.fromUs = Math.max(this.fromUs, us);
  }

  atMost(us: number): void {
    if (Math.abs(us) <= Number.MAX_SAFE_INTEGER) this.toUs = Math.min(this.toUs, us);
  }
}

/** All readings. */
export const EVERYTHING: Narrowing = new NarrowingBuilder();

/**
 * Finds texts of a source's columns, spans of time and tags in the first stage of a pipeline. The
 * stage is applied in full later.
 */
export function stageNarrowing(stage: Document | undefined): Narrowing {
  const found = new NarrowingBuilder();
  const match: unknown = stage?.["$match"];
  const fields = typeof match === "object" && match !== null ? Object.entries(match) : [];
  for (const [field, wanted] of fields) {
    if (SOURCE_COLUMNS.has(field)) {
      for (const texts of textsOf(wanted)) found.isOneOf(field, texts);
    }
    if (field === "tags" && typeof wanted === "string") found.tags.push(wanted);
    if (field === "time_received") narrowTime(found, wanted);
  }
  return found;
}

/** Lists of texts of which a field is to have one each. */
function* textsOf(wanted: unknown): Iterable<readonly string[]> {
  if (typeof wanted === "string") yield [wanted];
  if (typeof wanted !== "object" || wanted === null) return;
  for (const [operator, value] of Object.entries(wanted)) {
    if (operator === "$eq" && typeof value === "string") yield [value];
    if (operator === "$in" && Array.isArray(value) && value.every(isText)) yield value;
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** Times in documents are whole milliseconds, in the database they are finer. */
function narrowTime(found: NarrowingBuilder, wanted: unknown): void {
  if (typeof wanted !== "object" || wanted === null) return;
  for (const [operator, time] of Object.entries(wanted)) {
    if (!(time instanceof Date)) continue;
    const ms = time.getTime();
    if (["$gte", "$gt", "$eq"].includes(operator)) found.atLeast((ms - 1) * 1_000);
    if (["$lte", "$lt", "$eq"].includes(operator)) found.atMost((ms + 1) * 1_000);
  }
}
