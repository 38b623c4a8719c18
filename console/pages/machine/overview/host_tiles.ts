import { duration } from "../../../design/times.ts";
import { bytes, fixed, percent } from "../../../design/values.ts";
import { machine as words } from "../../../texts/machine.ts";
import type { Text } from "../../../texts/text.ts";
import type { Said } from "./software.ts";

/** Readings by their names. */
export type Readings = Readonly<Record<string, unknown>>;

/** One of a host's values, large. */
export interface Tile {
  readonly title: Text;
  readonly values: readonly string[];
  readonly notes: readonly Said[];
  /** For a bar: 0 to 100. */
  readonly full?: number;
}

/** Whether readings are those of a host sensor. */
export function isHost(readings: Readings): boolean {
  return ["cpu_percent", "memory_used_percent", "uptime_seconds"]
    .every((key) => typeof readings[key] === "number");
}

/** The tiles of a host's readings, as far as these are there. */
export function hostTiles(readings: Readings): Tile[] {
  const number = (key: string): number | undefined => {
    const value = readings[key];
    return typeof value === "number" ? value : undefined;
  };
  const tiles: Tile[] = [];
  const cpu = number("cpu_percent");
  if (cpu !== undefined) {
    const cores = number("cpu_count");
    const load = ["load_1m", "load_5m", "load_15m"].map(number)
      .filter((value) => value !== undefined).map((value) => fixed(value, 2)).join(" ");
    tiles.push({
      title: words.cpu,
      values: [percent(cpu)],
      notes: [
        ...(cores === undefined ? [] : [[words.cores, { n: cores }] as const]),
        ...(load === "" ? [] : [[words.load, { load }] as const]),
      ],
      full: cpu,
    });
  }
  for (const [title, key] of [[words.memory, "memory"], [words.disk, "disk"]] as const) {
    const full = number(`${key}_used_percent`);
    if (full === undefined) continue;
    const [used, total] = [number(`${key}_used_bytes`), number(`${key}_total_bytes`)];
    const notes: Said[] = used === undefined || total === undefined
      ? []
      : [[words.sizeOf, { used: bytes(used), total: bytes(total) }]];
    tiles.push({ title, values: [percent(full)], notes, full });
  }
  const [rx, tx] = ["rx", "tx"].map((way) => number(`network_${way}_bytes_per_second`));
  if (rx !== undefined && tx !== undefined) {
    const [allRx, allTx] = [number("network_rx_bytes"), number("network_tx_bytes")];
    const notes: Said[] = allRx === undefined || allTx === undefined
      ? []
      : [[words.inAll, { rx: bytes(allRx), tx: bytes(allTx) }]];
    tiles.push({ title: words.network, values: [`↓ ${bytes(rx)}/s`, `↑ ${bytes(tx)}/s`], notes });
  }
  const uptime = number("uptime_seconds");
  if (uptime !== undefined) {
    const count = number("process_count");
    const notes: Said[] = count === undefined ? [] : [[words.processes, { n: count }]];
    tiles.push({ title: words.uptime, values: [duration(uptime)], notes });
  }
  return tiles;
}
