/**
 * What the cloud found wrong, for the viewer: it says so in English sentences that list every
 * problem with its place, and the common ones are known here, as the console is of the same version.
 */
import { problems } from "../texts/problems.ts";
import type { Text, Values } from "../texts/text.ts";

type Said = readonly [text: Text, values: Values];
type Say = (text: Text, values: Values) => string;

const KINDS: Readonly<Record<string, Text>> = {
  text: problems.noText,
  number: problems.noNumber,
  "whole number": problems.noWholeNumber,
  "true or false": problems.noBoolean,
  list: problems.noList,
  object: problems.noObject,
};

/** Sentences without a place; what they name are the values. */
const WHOLE: readonly [RegExp, Text][] = [
  [/^fragments include one another: (?<circle>.+)$/, problems.fragmentCircle],
  [/^there is no fragment (?<id>\S+)(?: that may be used here)?$/, problems.fragmentGone],
  [/^fragment (?<id>\S+) is nested too deep: (?<most>\d+) /, problems.fragmentDeep],
  [/^fragment (?<id>\S+) needs the variable "(?<name>[^"]+)"/, problems.variable],
  [/^no such column: (?<name>[\w.]+)$/, problems.noColumn],
  [/^no such table: (?<name>[\w.]+)$/, problems.noTable],
  [/^no such function: (?<name>\w+)$/, problems.noFunction],
  [/^near "(?<near>.+)": syntax error$/, problems.syntax],
  [/^incomplete input$/, problems.unfinished],
  [/^there is no (?<name>[\w.[\]]+)$/, problems.noField],
  [/^the reading is empty$/, problems.readingEmpty],
  [/^all_machine_owners: no address is set/, problems.noOwners],
  [/^notifications of type push are not sent/, problems.noPush],
  [
    /^(?<back>\d+) of (?<all>\d+) machines that tried it rolled back, and (?<percent>[\d.]+) %/,
    problems.rolledBack,
  ],
  [
    /^the only machine that tried it rolled back, and (?<percent>[\d.]+) %/,
    problems.onlyRolledBack,
  ],
];

/** Sentences after a place, without what was found and what is allowed. */
const AT_PLACE: readonly [RegExp, Text][] = [
  [/^\S+ is missing$/, problems.missing],
  [/^this is not one of the choices$/, problems.choice],
  [/^(?<first>\S+) has the same (?:name|id)$/, problems.twice],
  [/^the resource depends on itself$/, problems.circleSelf],
  [/^the resources depend on each other: (?<circle>.+)$/, problems.circle],
  [/^there is no component or service of this name$/, problems.unknown],
  [/^the name is empty$/, problems.nameEmpty],
  [/^the name has a (?:character that is not allowed|[:+], which)/, problems.nameForm],
  [/^this is not a duration$/, problems.duration],
];

const PROBLEM =
  /^(?<at>\S+): (?<message>.+) \(found: (?<found>.*?)(?:, allowed: (?<allowed>.*))?\)(?: \(of fragment \S+\))?$/;

/** All that a text of the cloud says, in the viewer's language; undefined: some of it is not known. */
export function foundProblem(text: string, say: Say): string | undefined {
  const whole = matching(WHOLE, text);
  if (whole) return say(...whole);
  const all = text.replace(/^with its fragments: /, "").split("; ").map(oneProblem);
  return all.every((each) => each !== undefined)
    ? all.map((each) => say(...each)).join(" ")
    : undefined;
}

function oneProblem(text: string): Said | undefined {
  const more = /^and (?:at least )?(?<n>\d+) more$/.exec(text)?.groups;
  if (more) return [problems.more, more as Values];
  const { at = "", message = "", found = "", allowed = "" } = PROBLEM.exec(text)?.groups ?? {};
  const values = { at, found, allowed };
  const known = matching(AT_PLACE, message);
  if (known) return [known[0], { ...values, ...known[1] }];
  if (message === "this is the wrong kind of value") {
    const kind = KINDS[allowed];
    return kind && [kind, values];
  }
  const bound = /^(?<bound>\S+) or (?<side>more|less)$/.exec(allowed)?.groups;
  if (message === "this is out of range" && bound) {
    const text = bound["side"] === "more" ? problems.least : problems.most;
    return [text, { ...values, bound: bound["bound"] ?? "" }];
  }
  const n = /^the name has (\d+) characters$/.exec(message)?.[1];
  const most = /^at most (\d+) characters$/.exec(allowed)?.[1];
  return n !== undefined && most !== undefined ? [problems.nameLong, { at, n, most }] : undefined;
}

function matching(table: readonly [RegExp, Text][], text: string): Said | undefined {
  for (const [pattern, words] of table) {
    const match = pattern.exec(text);
    if (match) return [words, (match.groups ?? {}) as Values];
  }
  return undefined;
}
