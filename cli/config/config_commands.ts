import { partArgument } from "../../shared/commands/choice/part.ts";
import { UsageError } from "../../shared/base/flags/flags.ts";
import { toFileError } from "../../shared/base/files/fs_error.ts";
import { sameJson } from "../../shared/base/json/json.ts";
import type { ChosenPart } from "../../shared/commands/choice/part.ts";
import { findPart } from "../../shared/commands/choice/part.ts";
import { textTable } from "../../shared/commands/output/text_table.ts";
import { paint } from "../../shared/commands/output/terminal.ts";
import { isoTime, timeText } from "../../shared/commands/output/times.ts";
import {
  command,
  type CommandContext,
  type CommandTree,
  type Output,
} from "../../shared/commands/run/command.ts";
import type { Confirm } from "../asking/confirm.ts";
import { editText, type OpenEditor } from "./edit.ts";
import {
  type Author,
  configProblems,
  diffText,
  parseConfig,
  type PartConfig,
  readAuthors,
  readFragmentChanges,
  readHistory,
  readPartConfig,
  type Revision,
  saveConfig,
} from "./part_config.ts";

/** What the commands need from outside. */
export interface ConfigDeps {
  readonly confirm: Confirm;
  readonly ask: (question: string) => Promise<string>;
  readonly openEditor: OpenEditor;
  readonly readInput: () => Promise<string>;
}

const yesFlag = { type: "boolean", aliases: ["y"], doc: "Do not ask for confirmation." } as const;
const revisionDoc =
  "How many saves ago: 0 counts now, 1 counted before; config history lists them.";
/** Lines of a difference, and characters of each, that are shown before a question. */
const MOST_SHOWN = 200;
const LONGEST_SHOWN = 1_000;
/** As far back as a revision is looked for. */
const FURTHEST = 10_000;

/** Commands about the configuration of parts. */
export function configCommands(deps: ConfigDeps): CommandTree {
  return {
    "config get": command({
      summary: "Print the configuration of a part, as it was saved.",
      flags: {
        "revision": { type: "integer", default: 0, min: 0, max: FURTHEST, doc: revisionDoc },
      },
      arguments: [partArgument],
      async run(context, { values: { revision }, arguments: [wanted = ""] }) {
        const config = revision === 0
          ? (await readPartConfig(context, wanted)).config
          : await revisionOf(context, (await findPart(context, wanted)).id, revision);
        return { json: config.value, text: withLineFeed(config.text) };
      },
    }),
    "config set": command({
      summary: "Replace the configuration of a part by that of a file.",
      flags: { "yes": yesFlag },
      arguments: [partArgument, { placeholder: "FILE", doc: "JSON; - for standard input." }],
      async run(context, { values, arguments: [wanted = "", file = ""] }) {
        const text = await readText(file, deps.readInput);
        const value = parseConfig(text, file === "-" ? "standard input" : file);
        const { part, config } = await readPartConfig(context, wanted);
        if (sameJson(config.value, value)) return unchanged(part);
        const isAllowed = values.yes || !context.terminal.isInput || file === "-";
        showDiff(context, config, value);
        await deps.confirm(context, isAllowed, `save this as the configuration of ${part.name}?`);
        return await save(context, part, { text, value }, config, `; your text is in ${file}`);
      },
    }),
    "config edit": command({
      summary: "Change the configuration of a part in your editor, see the difference, save.",
      flags: { "yes": yesFlag },
      arguments: [partArgument],
      footer: "The editor is that of VISUAL or EDITOR.",
      async run(context, { values, arguments: [wanted = ""] }) {
        const { part, config } = await readPartConfig(context, wanted);
        const again = async (problem: string) => {
          if (!context.terminal.isInput) return false;
          return !/^n/i.test(await deps.ask(`${problem}\nedit it again? [Y/n] `));
        };
        const edited = await editText(config.text, part.name, deps.openEditor, again);
        if (sameJson(config.value, edited.value) && edited.text === config.text) {
          await edited.remove();
          return unchanged(part);
        }
        showDiff(context, config, edited.value);
        const kept = `; your text is in ${edited.path}`;
        try {
          const isAllowed = values.yes || !context.terminal.isInput;
          await deps.confirm(context, isAllowed, `save this as the configuration of ${part.name}?`);
          const output = await save(context, part, edited, config, "");
          await edited.remove();
          return output;
        } catch (error) {
          context.warn(`nothing was saved${kept}`);
          throw error;
        }
      },
    }),
    "config diff": command({
      summary: "Show what changed between two revisions, or what a file would change.",
      flags: {
        "file": { type: "string", placeholder: "FILE", doc: "Compare what counts now with it." },
      },
      arguments: [
        partArgument,
        { placeholder: "FROM", doc: `${revisionDoc} Default: 1.`, optional: true },
        { placeholder: "TO", doc: "Default: 0.", optional: true },
      ],
      async run(context, { values: { file }, arguments: [wanted = "", from = "1", to = "0"] }) {
        const { part, config } = await readPartConfig(context, wanted);
        if (file !== undefined) {
          const after = parseConfig(await readText(file, deps.readInput), file);
          return diffOutput(context, config, after, { problems: configProblems(after) });
        }
        const [one, other] = [revisionNumber("FROM", from), revisionNumber("TO", to)];
        const before = await revisionOf(context, part.id, one);
        const after = await revisionOf(context, part.id, other);
        const byFragments = await readFragmentChanges(context, part.id, [one, other]);
        return diffOutput(context, before, after.value, { byFragments });
      },
    }),
    "config history": command({
      summary: "List who saved the configuration when, and what changed.",
      flags: { "limit": { type: "integer", default: 20, min: 1, max: FURTHEST, doc: "How many." } },
      arguments: [partArgument],
      async run(context, { values: { limit }, arguments: [wanted = ""] }) {
        const { id } = await findPart(context, wanted);
        const revisions = await readHistory(context, id, limit + 1);
        const authors = await readAuthors(context, id, limit);
        const rows = revisions.slice(0, limit).map((revision, at) => ({
          revision: revision.number,
          saved_at: isoTime(authors[at]?.savedAt ?? revision.savedAt),
          saved_by: authors[at]?.savedBy ?? "",
          saved_by_name: authors[at]?.savedByName ?? "",
          saved_how: authors[at]?.savedHow ?? "",
          changes: changesOf(revisions[at + 1], revision, authors[at]),
        }));
        const text = textTable([
          ["REVISION", "SAVED", "BY", "HOW", "CHANGES"],
          ...rows.map((row, at) => [
            String(row.revision),
            timeText(authors[at]?.savedAt ?? revisions[at]?.savedAt),
            row.saved_by_name || row.saved_by || "-",
            row.saved_how || "-",
            // What was added, without its value.
            row.changes.filter((line) => !line.startsWith(" "))
              .map((line) => line.replace(/ \{.*$/, "")).join(", ") || "-",
          ]),
        ], context.terminal.columns);
        return { json: rows, text, ids: rows.map(({ revision }) => String(revision)) };
      },
    }),
    "config restore": command({
      summary: "Save a configuration of before once more.",
      flags: { "yes": yesFlag },
      arguments: [
        partArgument,
        { placeholder: "REVISION", doc: `${revisionDoc} Default: 1.`, optional: true },
      ],
      async run(context, { values, arguments: [wanted = "", revision = "1"] }) {
        const { part, config } = await readPartConfig(context, wanted);
        const back = revisionNumber("REVISION", revision);
        const old = await revisionOf(context, part.id, back);
        const saved = (await readAuthors(context, part.id, back + 1))[back];
        if (sameJson(config.value, old.value)) return unchanged(part);
        showDiff(context, config, old.value);
        const isAllowed = values.yes || !context.terminal.isInput;
        await deps.confirm(context, isAllowed, `save this as the configuration of ${part.name}?`);
        return await save(context, part, old, config, "", saved?.number);
      },
    }),
  };
}

async function save(
  context: CommandContext,
  part: ChosenPart,
  { text, value }: Pick<PartConfig, "text" | "value">,
  known: PartConfig,
  kept: string,
  revision?: bigint,
): Promise<Output> {
  const what = revision === undefined ? { text } : { revision };
  const saved = await saveConfig(context, part, what, known);
  if (saved.kind === "conflict") {
    throw new Error(
      `somebody saved the configuration of ${part.name} at ${
        timeText(saved.config.savedAt)
      }, after you read it; nothing was overwritten${kept}. They changed:\n${
        diffText(known.value, saved.config.value)
      }\nRun the command again to change what counts now`,
    );
  }
  return {
    json: {
      id: part.id,
      saved: true,
      saved_at: isoTime(saved.savedAt),
      changes: lines(known, value),
    },
    text: `saved the configuration of ${part.name}\n`,
    ids: [part.id],
  };
}

function unchanged(part: ChosenPart): Output {
  return {
    json: { id: part.id, saved: false, changes: [] },
    text: `nothing changed; the configuration of ${part.name} stays as it is\n`,
    ids: [part.id],
  };
}

function lines(before: Pick<PartConfig, "value">, after: PartConfig["value"]): string[] {
  return diffText(before.value, after).split("\n").filter((line) => line !== "");
}

function changesOf(
  before: Revision | undefined,
  after: Revision,
  author: Author | undefined,
): string[] {
  // What a fragment changed is not in the part's own text.
  if (author?.savedHow === "fragment") {
    return [
      ...author.added.map((entry) => `+ ${entry}`),
      ...author.changed.map((entry) => `~ ${entry}`),
      ...author.removed.map((entry) => `- ${entry}`),
    ];
  }
  return before ? lines(before, after.value) : [];
}

/** What a save would change, before somebody is asked; the question stays in sight. */
function showDiff(context: CommandContext, before: PartConfig, after: PartConfig["value"]): void {
  if (context.json || context.quiet) return;
  const all = lines(before, after);
  const shown = all.slice(0, MOST_SHOWN).map((line) =>
    line.length > LONGEST_SHOWN ? `${line.slice(0, LONGEST_SHOWN)}…` : line
  );
  const left = all.length - shown.length;
  if (left > 0) shown.push(`… and ${left} lines more; config diff --file shows all of a file`);
  context.warn(coloured(context, shown));
}

function diffOutput(
  context: CommandContext,
  before: PartConfig,
  after: PartConfig["value"],
  { problems, byFragments = [] }: {
    readonly problems?: readonly string[];
    readonly byFragments?: readonly string[];
  },
): Output {
  const changes = [...lines(before, after), ...byFragments];
  const text = changes.length === 0 ? "nothing differs" : coloured(context, changes);
  for (const problem of problems ?? []) context.warn(`it cannot be saved: ${problem}`);
  return { json: { changes, ...(problems ? { problems: [...problems] } : {}) }, text: `${text}\n` };
}

function coloured({ terminal }: CommandContext, changes: readonly string[]): string {
  return changes.map((line) => {
    if (line.startsWith("+")) return paint(terminal, "green", line);
    if (line.startsWith("-")) return paint(terminal, "red", line);
    return line.startsWith("~") ? paint(terminal, "yellow", line) : line;
  }).join("\n");
}

function revisionNumber(name: string, text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= FURTHEST) return Number(text);
  throw new UsageError(`${name}: ${JSON.stringify(text)} is no revision. ${revisionDoc}`);
}

async function revisionOf(
  context: CommandContext,
  partId: string,
  number: number,
): Promise<Revision> {
  const revisions = await readHistory(context, partId, number + 1);
  const found = revisions[number];
  if (found) return found;
  throw new UsageError(
    `there is no revision ${number}; the oldest is ${
      revisions.length - 1
    }, as config history shows`,
  );
}

async function readText(file: string, readInput: () => Promise<string>): Promise<string> {
  if (file === "-") return await readInput();
  return await Deno.readTextFile(file).catch((error) => {
    throw toFileError(error, "read the configuration", file);
  });
}

function withLineFeed(text: string): string {
  return text.endsWith("\n") ? text : `${text}\n`;
}
