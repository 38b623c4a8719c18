import type { GetHistoryResponse } from "../../../../shared/gen/machine/server/v1/diagnostics_pb.ts";
import { bytes, percent } from "../../../design/values.ts";
import type { Format } from "../../../plots/axis.ts";
import { type Lines, linesOf } from "../../../plots/lines.ts";
import { health as words } from "../../../texts/health.ts";
import type { Text, Values } from "../../../texts/text.ts";

/** Beginnings of the names that the page asks for. */
export const ASKED = ["host.", "proc.machine-server.RssMB", "proc.modules."];

/** Modules beyond these have no plot. */
const MOST_MODULES = 8;
const MODULE_MEMORY = /^proc\.modules\.(.*)\.RssMB$/s;

/** A plot of the page. */
export interface Course {
  /** Unlike that of any other plot. */
  readonly key: string;
  readonly title: readonly [Text, Values?];
  readonly lines: Lines;
  readonly format: Format;
  /** What is full; left out: there is no such value. */
  readonly most?: number;
}

const megabytes: Format = (value, more) => bytes(value * 1e6, more);
const perSecond: Format = (value, more) => `${bytes(value, more)}/s`;

/** The plots of what a machine noted, those of the host first; without values there is none. */
export function coursesOf(history: GetHistoryResponse, startMs: number): Course[] {
  const byName = new Map(history.series.map((series) => [series.name, series]));
  const course = (
    name: string,
    title: Course["title"],
    format: Course["format"],
    most?: number,
  ): Course[] => {
    const series = byName.get(name);
    if (!series) return [];
    const { mean, least: min, most: max } = series;
    const count = mean.map((value) => Number.isNaN(value) ? 0 : 1);
    const lines = linesOf({ count, mean, min, max }, startMs, history.stepSeconds * 1_000);
    if (lines[0].length === 0) return [];
    return [{ key: name, title, lines, format, ...(most !== undefined && { most }) }];
  };
  const total = (name: string) => byName.get(name)?.most.findLast((value) => !Number.isNaN(value));
  const modules = [...byName.keys()].flatMap((name) => MODULE_MEMORY.exec(name)?.[1] ?? [])
    .slice(0, MOST_MODULES);
  return [
    ...course("host.CPUPercent", [words.cpu], percent, 100),
    ...course("host.MemoryUsedMB", [words.memory], megabytes, total("host.MemoryTotalMB")),
    ...course("host.DiskUsedMB", [words.disk], megabytes, total("host.DiskTotalMB")),
    ...course("host.RxBytesPerSecond", [words.received], perSecond),
    ...course("host.TxBytesPerSecond", [words.sent], perSecond),
    ...course("proc.machine-server.RssMB", [words.serverMemory], megabytes),
    ...modules.flatMap((name) =>
      course(`proc.modules.${name}.RssMB`, [words.moduleMemory, { name }], megabytes)
    ),
  ];
}
