import type { fleet as words } from "../../texts/fleet.ts";

/** A column of the list: what it is called, and when it is there. */
export interface FleetColumn {
  readonly name: string;
  readonly text: keyof typeof words;
  readonly share?: number;
  /** Never narrower, pixels. */
  readonly least?: number;
  /** Of the usual columns it is shown from this width, pixels. */
  readonly from?: number;
  readonly sortable?: true;
}

export const COLUMNS: readonly FleetColumn[] = [
  { name: "name", text: "colName", share: 2, sortable: true },
  { name: "state", text: "colState", share: 1.2, least: 156, sortable: true },
  { name: "location", text: "colLocation", share: 1.2, from: 880, sortable: true },
  { name: "version", text: "colVersion", from: 660, sortable: true },
  { name: "agent", text: "colAgent", from: 1180, sortable: true },
  { name: "platform", text: "colPlatform", from: 1040, sortable: true },
  { name: "tags", text: "colTags", share: 1.5, from: 760 },
  { name: "seen", text: "colSeen", from: 640, sortable: true },
];

/** Columns narrower than this hold nothing, pixels. */
const NARROWEST = 96;

/**
 * The columns that a text chooses, such as `state,seen`: the name always, then those in their order.
 * An empty text, or one that names none, is the usual columns. Chosen ones are shown wherever there
 * is room, and not by the widths of the usual ones.
 */
export function columnsIn(text: string): readonly FleetColumn[] {
  const wanted = new Set(text.split(","));
  const chosen = COLUMNS.filter(({ name }) => name !== "name" && wanted.has(name));
  if (chosen.length === 0) return COLUMNS;
  return [...COLUMNS.slice(0, 1), ...chosen].map((column, at) => ({
    ...column,
    from: (at + 1) * NARROWEST,
  }));
}

/** What {@link columnsIn} reads; empty when all are chosen. */
export function columnsText(names: readonly string[]): string {
  const chosen = COLUMNS.slice(1).map(({ name }) => name).filter((name) => names.includes(name));
  return chosen.length === COLUMNS.length - 1 ? "" : chosen.join(",");
}
