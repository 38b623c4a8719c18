import type { Flag, FlagSpec, FlagTable } from "./spec.ts";

/** Options whose names are longer than this get their text on the next line. */
const WIDEST_NAME = 34;
const LINE_WIDTH = 100;

/** The help text of a program or subcommand, ending with a line feed. */
export function renderHelp<T extends FlagTable>(spec: FlagSpec<T>): string {
  const listed = Object.entries<Flag>(spec.flags).filter(([, flag]) => !flag.hidden);
  const words = (spec.arguments ?? [])
    .map(({ placeholder, optional }) => optional ? `[${placeholder}]` : placeholder);
  const usage = [spec.program, "[options]", ...words].join(" ");
  const dashes = spec.dashes ?? "--";
  const options = [
    ...listed.map(([name, flag]): Row => [flagForms(name, flag, dashes), flagText(flag)]),
    [`-h, ${dashes}help`, "Show this help."] satisfies Row,
  ];
  const sections = [spec.summary, `Usage:\n  ${usage}`];
  if (spec.arguments?.length) {
    const rows = spec.arguments.map(({ placeholder, doc }): Row => [placeholder, doc]);
    sections.push(`Arguments:\n${renderRows(rows)}`);
  }
  sections.push(`Options:\n${renderRows(options)}`);
  if (spec.footer) sections.push(spec.footer);
  return sections.join("\n\n") + "\n";
}

/** A name and what it means. */
export type Row = readonly [name: string, text: string];

/** Two aligned columns; long texts are wrapped, long names stand on their own line. */
export function renderRows(rows: readonly Row[]): string {
  const fitting = rows.map(([name]) => name.length).filter((length) => length <= WIDEST_NAME);
  const width = Math.max(0, ...fitting) + 2;
  const indent = " ".repeat(width + 2);
  return rows.map(([name, text]) => {
    const lines = wrap(text, LINE_WIDTH - indent.length).join(`\n${indent}`);
    const head = name.length > WIDEST_NAME ? `${name}\n${indent}` : name.padEnd(width);
    return `  ${head}${lines}`.trimEnd();
  }).join("\n");
}

function flagForms(name: string, flag: Flag, dashes: string): string {
  const aliases = flag.aliases ?? [];
  const forms = [...aliases.map((alias) => alias.length === 1 ? `-${alias}` : dashes + alias)];
  const value = flag.type === "boolean"
    ? ""
    : ` ${flag.placeholder ?? (flag.type === "integer" ? "N" : "VALUE")}`;
  return [...forms, `${dashes}${name}`].join(", ") + value;
}

function flagText(flag: Flag): string {
  const notes: string[] = [];
  if (flag.type === "string" && flag.choices) notes.push(`one of ${flag.choices.join(", ")}`);
  if (flag.type === "list") notes.push("may be given several times");
  if (flag.type !== "boolean" && flag.required) notes.push("required");
  if (flag.default !== undefined && flag.default !== false && flag.default !== "") {
    notes.push(`default ${flag.default}`);
  }
  if (flag.env !== undefined) notes.push(`environment ${flag.env}`);
  return notes.length === 0 ? flag.doc : `${flag.doc} (${notes.join("; ")})`;
}

function wrap(text: string, width: number): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const last = lines.length - 1;
    const line = lines[last] ?? "";
    if (line === "") lines[last] = word;
    else if (line.length + 1 + word.length <= width) lines[last] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}
