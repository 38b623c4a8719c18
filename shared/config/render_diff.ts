import { sameJson } from "../base/json/json.ts";
import type { ConfigDiff, ListDiff } from "./diff.ts";
import { maskSecrets } from "./secrets.ts";
import { formatPath } from "./problem.ts";

type Steps = readonly (string | number)[];

/** A leaf that differs, with its values before and after; undefined where it is missing. */
interface LeafChange {
  path: Steps;
  before: unknown;
  after: unknown;
}

const TITLES = {
  resources: "resource",
  modules: "module",
  remotes: "remote",
  processes: "process",
  packages: "package",
  jobs: "job",
  triggers: "trigger",
} as const;

/**
 * A diff as text, one change a line: `+` added, `~` modified, `-` removed, and below a modified
 * entry each value before and after. Secrets are `******` unless `reveal`; a changed secret says so.
 * Empty when nothing changed.
 */
export function renderDiff(diff: ConfigDiff, options: { reveal?: boolean } = {}): string {
  const reveal = options.reveal ?? false;
  const lines: string[] = [];
  for (const key of Object.keys(TITLES) as (keyof typeof TITLES)[]) {
    lines.push(...renderList(TITLES[key], diff[key], reveal));
  }
  for (const { key, before, after } of diff.blocks) {
    lines.push(`~ ${key}`, ...renderChanges([key], before, after, reveal));
  }
  return lines.join("\n");
}

function renderList(title: string, list: ListDiff<object>, reveal: boolean): string[] {
  const whole = (sign: string) => (entry: { name: string; value: object }) => {
    const shown = reveal ? entry.value : maskSecrets(entry.value);
    return `${sign} ${title} ${entry.name} ${JSON.stringify(shown)}`;
  };
  return [
    ...list.added.map(whole("+")),
    ...list.modified.flatMap(({ name, before, after }) => [
      `~ ${title} ${name}`,
      ...renderChanges([], before, after, reveal),
    ]),
    ...list.removed.map((entry) => `- ${title} ${entry.name}`),
  ];
}

function renderChanges(path: Steps, before: unknown, after: unknown, reveal: boolean): string[] {
  const key = String(path.at(-1) ?? "");
  const [left, right] = reveal
    ? [before, after]
    : [maskSecrets(before, key), maskSecrets(after, key)];
  return leafChanges(path, before, after).map((change) => {
    const from = show(valueAt(left, change.path.slice(path.length)));
    const to = show(valueAt(right, change.path.slice(path.length)));
    const note = from === to ? " (changed)" : "";
    return `    ${formatPath(change.path)}: ${from} → ${to}${note}`;
  });
}

/** The leaves that differ. Lists of different lengths and empty objects count as leaves. */
function leafChanges(path: Steps, before: unknown, after: unknown): LeafChange[] {
  if (sameJson(before, after)) return [];
  if (isTree(before) && isTree(after) && Array.isArray(before) === Array.isArray(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...keys].flatMap((key) => {
      const step = Array.isArray(before) ? Number(key) : key;
      return leafChanges([...path, step], valueAt(before, [step]), valueAt(after, [step]));
    });
  }
  return [{ path, before, after }];
}

function isTree(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function valueAt(value: unknown, path: Steps): unknown {
  return path.reduce<unknown>(
    (at, step) => isTree(at) ? (at as Record<string | number, unknown>)[step] : undefined,
    value,
  );
}

function show(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value);
}
