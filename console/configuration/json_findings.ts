/** What JavaScript and the checker of schemas find wrong, in the viewer's language. */
import { jsonFindings as words } from "../texts/editor.ts";
import type { Text, Values } from "../texts/text.ts";
import type { SchemaFinding } from "./schema_checks.ts";

type Say = (text: Text, values: Values) => string;
type Rows = readonly (readonly [RegExp, Text])[];

const SYNTAX: Rows = [
  [/line (?<line>\d+) column (?<column>\d+)/, words.from],
  [/^Unexpected token '(?<token>.+?)',/, words.token],
  [/^Unexpected end|end of data/, words.end],
];

/** What the checker says of each keyword. */
const OF_KEYWORD: Readonly<Record<string, Rows>> = {
  type: [[/Expected "(?<types>.+)"\.$/, words.type]],
  enum: [[/any of \[(?<allowed>.+)\]\.$/s, words.choice]],
  const: [[/match (?<allowed>.+)\.$/s, words.value]],
  required: [[/property "(?<name>.+)"\.$/s, words.missing]],
  false: [[/./, words.notAllowed]],
  minimum: [[/than (?<bound>\S+)\.$/, words.least]],
  maximum: [[/than (?<bound>\S+)\.$/, words.most]],
  exclusiveMinimum: [[/than (?<bound>\S+)\.$/, words.above]],
  exclusiveMaximum: [[/to (?<bound>\S+)\.$/, words.below]],
  multipleOf: [[/of (?<bound>\S+)\.$/, words.multiple]],
  minLength: [[/\((?<n>\d+) < (?<bound>\d+)\)/, words.short]],
  maxLength: [[/\((?<n>\d+) > (?<bound>\d+)\)/, words.long]],
  minItems: [[/\((?<n>\d+) < (?<bound>\d+)\)/, words.few]],
  maxItems: [[/\((?<n>\d+) > (?<bound>\d+)\)/, words.many]],
  uniqueItems: [[/(?<first>\d+) and (?<second>\d+)/, words.twice]],
  pattern: [[/./, words.pattern]],
  format: [[/format "(?<format>.+)"/, words.format]],
  dependentRequired: [[/has "(?<name>.+)" but .* "(?<other>.+)"/, words.needs]],
};

/** Why a text is no JSON, by what `JSON.parse` threw. */
export function jsonProblem(thrown: unknown, say: Say): string {
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return worded(SYNTAX, message, say) ?? message;
}

/** What does not fit a schema. */
export function findingText({ keyword, error }: SchemaFinding, say: Say): string {
  return worded(OF_KEYWORD[keyword] ?? [], error, say) ?? say(words.other, { keyword });
}

function worded(rows: Rows, message: string, say: Say): string | undefined {
  for (const [pattern, text] of rows) {
    const match = pattern.exec(message);
    if (match) return say(text, values(match.groups));
  }
  return undefined;
}

function values(groups: Record<string, string> = {}): Values {
  // A list of types, as the checker writes it.
  const types = groups["types"]?.replaceAll('", "', ", ");
  return types === undefined ? groups : { ...groups, types };
}
