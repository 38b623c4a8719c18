/**
 * What the cloud found wrong, for the viewer: it says so in English sentences that list every
 * problem with its place, and the common ones are known here, as the console is of the same version.
 */
import { configProblems } from "../texts/config_problems.ts";
import { problems } from "../texts/problems.ts";
import { AT_PLACE, type Row, WHOLE } from "./problem_sentences.ts";
import { QUERY } from "./query_sentences.ts";
import { REGEX } from "./regex_sentences.ts";
import type { Text, Values } from "../texts/text.ts";

type Said = readonly [text: Text, values: Values];
type Say = (text: Text, values: Values) => string;

const KINDS: Readonly<Record<string, readonly [alone: Text, amongOthers: Text]>> = {
  text: [problems.noText, configProblems.text],
  number: [problems.noNumber, configProblems.number],
  "whole number": [problems.noWholeNumber, configProblems.wholeNumber],
  "true or false": [problems.noBoolean, configProblems.boolean],
  list: [problems.noList, configProblems.list],
  object: [problems.noObject, configProblems.object],
};

/** What a condition of a trigger calls a value, in the middle of a sentence. */
const VALUES: ReadonlyMap<string, Text> = new Map<string, Text>([
  ["a list", configProblems.aList],
  ["an object", configProblems.anObject],
  ["true or false", configProblems.boolean],
  ["a number", configProblems.aNumber],
  ["a text", configProblems.aText],
]);

const PROBLEM =
  /^(?<at>\S+): (?<message>.+) \(found: (?<found>.*?)(?:, allowed: (?<allowed>.*))?\)(?: \(of fragment \S+\))?$/;

/**
 * A machine writes such texts, too, as long as it likes, and what finds the parts of one problem
 * goes back and forth in it.
 */
const LONGEST = 20_000;
const LONGEST_PROBLEM = 2_000;

/** All that a text of the cloud says, in the viewer's language; undefined: some of it is not known. */
export function foundProblem(text: string, say: Say): string | undefined {
  if (text.length > LONGEST) return undefined;
  const whole = matching(WHOLE, text, say) ?? matching(QUERY, text, say);
  if (whole) return say(...whole);
  const all = text.replace(/^with its fragments: /, "").split(/(?<=\)); (?=\S+: |and )/)
    .map((each) => oneProblem(each, say));
  return all.every((each) => each !== undefined)
    ? all.map((each) => say(...each)).join(" ")
    : undefined;
}

function oneProblem(text: string, say: Say): Said | undefined {
  if (text.length > LONGEST_PROBLEM) return undefined;
  const more = /^and (?:at least )?(?<n>\d+) more$/.exec(text)?.groups;
  if (more) return [problems.more, more as Values];
  const { at = "", message = "", found = "", allowed = "" } = PROBLEM.exec(text)?.groups ?? {};
  const values = { at, found, allowed };
  const known = matching(AT_PLACE, message, say);
  if (known) return [known[0], { ...values, ...known[1] }];
  if (message === "this is the wrong kind of value") {
    const alone = KINDS[allowed]?.[0];
    if (alone) return [alone, values];
    const kinds = allowed.split(/ or (?!false)/).map((kind) => KINDS[kind]?.[1]);
    return kinds.every((kind) => kind !== undefined)
      ? [configProblems.kinds, { at, allowed: kinds.map((kind) => say(kind, {})).join(", ") }]
      : [configProblems.wrong, values];
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

function matching(table: readonly Row[], text: string, say: Say): Said | undefined {
  for (const [pattern, words] of table) {
    const match = pattern.exec(text);
    if (match) return [words, worded(match.groups ?? {}, say)];
  }
  return undefined;
}

/** Parts of a sentence that are words of the cloud themselves. */
function worded(groups: Readonly<Record<string, string | undefined>>, say: Say): Values {
  const { why, name, kind, wanted } = groups;
  const values = { ...groups } as Record<string, string>;
  const reason = why === undefined ? undefined : matching(REGEX, why, say);
  if (reason) values["why"] = say(...reason);
  if (name === "the reading's value") values["name"] = say(configProblems.onlyValue, {});
  for (const [key, text] of Object.entries({ kind, wanted })) {
    const known = VALUES.get(text ?? "");
    if (known) values[key] = say(known, {});
  }
  return values;
}
