import { EVERYTHING, type Narrowing, NarrowingBuilder, type Needs } from "./narrowing.ts";
import { SOURCE_COLUMNS, UPLOAD_COLUMNS } from "./readings_view.ts";
import { type Token, tokensOf } from "./statement_tokens.ts";

/** What an expression without columns is worth; undefined: it has none. */
export type Evaluate = (expression: string) => unknown;

const ALL: Needs = { looks: [EVERYTHING], data: true, uploads: true };
/** Words that end the part `WHERE` of a SELECT. */
const BEHIND_WHERE = /^(group|having|window|order|limit|union|intersect|except)$/;
/** Words behind the name of a table that are no other name of it. */
const BEHIND_TABLE =
  /^(where|join|inner|left|cross|outer|right|full|natural|on|using|indexed|not|group|having|window|order|limit|union|intersect|except)$/;
/** Joins after which a column's name may mean another table's, or rows come without the first one. */
const OTHER_JOINS = /^(right|full|natural|using)$/;
/** Functions that give the same for the same, or the time. */
const FUNCTIONS =
  /^(strftime|unixepoch|julianday|datetime|date|time|abs|round|max|min|upper|lower)$/;
const SECOND_US = 1_000_000;
const MINUTE_US = 60 * SECOND_US;
const MARGIN_US = 1_000;
const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d{1,3})?Z?)?$/;

/**
 * What a statement in SQL needs. It understands conditions on columns of `readings` that stand in
 * `WHERE`, joined by `AND`; what it does not understand narrows nothing. The statement is run in
 * full on what is left.
 */
export function statementNeeds(statement: string, evaluate: Evaluate): Needs {
  const tokens = tokensOf(statement);
  if (!tokens) return ALL;
  const isAll = tokens.some((token, at) =>
    isWord(token, "natural") || isEveryColumn(tokens[at - 1], token)
  );
  const has = (wanted: (name: string) => boolean) =>
    isAll || tokens.some(({ kind, value }) => kind !== "number" && wanted(value.toLowerCase()));
  return {
    looks: tokens.flatMap((token, at) => {
      if (token.kind !== "name" && token.kind !== "text") return [];
      if (token.value.toLowerCase() !== "readings") return [];
      // As in `readings.data`.
      if (isSign(tokens[at + 1], ".")) return [];
      return [lookAt(tokens, at, evaluate)];
    }),
    data: has((name) => name === "data"),
    uploads: has((name) => UPLOAD_COLUMNS.has(name)),
  };
}

/** Whether a `*` is all columns, and no product or `count(*)`. */
function isEveryColumn(before: Token | undefined, token: Token): boolean {
  if (!isSign(token, "*")) return false;
  return isSign(before, ".") || isSign(before, ",") || isWord(before, "select") ||
    isWord(before, "distinct") || isWord(before, "all");
}

/** What is looked at where a statement names the table. */
function lookAt(tokens: readonly Token[], at: number, evaluate: Evaluate): Narrowing {
  const depth = tokens[at]?.depth ?? 0;
  if (!isWord(tokens[at - 1], "from")) return EVERYTHING;
  const isNamed = isWord(tokens[at + 1], "as");
  const next = at + (isNamed ? 2 : 1);
  const alias = tokens[next];
  const hasAlias = alias?.depth === depth &&
    (alias.kind === "text" ||
      alias.kind === "name" && (isNamed || alias.isQuoted || !BEHIND_TABLE.test(alias.value)));
  const end = endOf(tokens, next, depth);
  const where = tokens.findIndex((token, index) =>
    index >= next && index < end && token.depth === depth && isWord(token, "where")
  );
  if (where < 0) return EVERYTHING;
  const joins = tokens.slice(next, where);
  if (joins.some((token) => isKeyword(token) && OTHER_JOINS.test(token.value))) return EVERYTHING;
  const found = new NarrowingBuilder();
  const table = hasAlias ? alias.value.toLowerCase() : "readings";
  narrow(found, tokens.slice(where + 1, end), { table, evaluate });
  return found;
}

interface Reading {
  /** What the table is called in the statement. */
  readonly table: string;
  readonly evaluate: Evaluate;
}

/** Where the part `WHERE` ends of a SELECT, of which a place is part. */
function endOf(tokens: readonly Token[], from: number, depth: number): number {
  const end = tokens.findIndex((token, at) =>
    at >= from && (token.depth < depth || token.depth === depth &&
        (isSign(token, ";") || isKeyword(token) && BEHIND_WHERE.test(token.value)))
  );
  return end < 0 ? tokens.length : end;
}

/** Conditions joined by `AND`, each of which narrows, or does not. */
function narrow(found: NarrowingBuilder, tokens: readonly Token[], reading: Reading): void {
  const depth = tokens[0]?.depth ?? 0;
  const own = (token: Token, word: string) => token.depth === depth && isWord(token, word);
  if (tokens.some((token) => own(token, "or") || own(token, "case"))) return;
  let condition: Token[] = [];
  let isBetween = false;
  const take = () => {
    const inner = parenthesized(condition);
    if (inner) narrow(found, inner, reading);
    else narrowByOne(found, condition, reading);
    condition = [];
  };
  for (const token of tokens) {
    if (own(token, "between")) isBetween = true;
    if (own(token, "and") && !isBetween) {
      take();
      continue;
    }
    if (own(token, "and")) isBetween = false;
    condition.push(token);
  }
  take();
}

function parenthesized(tokens: readonly Token[]): readonly Token[] | undefined {
  const [first, last] = [tokens[0], tokens.at(-1)];
  if (!isSign(first, "(") || !isSign(last, ")")) return undefined;
  const inner = tokens.slice(1, -1);
  return inner.every(({ depth }) => depth > (first?.depth ?? 0)) ? inner : undefined;
}

const MIRRORED: Readonly<Record<string, string>> = {
  "<": ">",
  "<=": ">=",
  ">": "<",
  ">=": "<=",
  "=": "=",
  "==": "=",
};

/** `column OPERATOR value`, `value OPERATOR column`, `column BETWEEN a AND b`, `column IN (a, b)`. */
function narrowByOne(
  found: NarrowingBuilder,
  tokens: readonly Token[],
  reading: Reading,
): void {
  const depth = tokens[0]?.depth ?? 0;
  const at = tokens.findIndex((token) =>
    token.depth === depth &&
    (token.kind === "sign" && token.value in MIRRORED || isWord(token, "between") ||
      isWord(token, "in"))
  );
  const operator = tokens[at]?.value ?? "";
  const [before, behind] = [tokens.slice(0, at), tokens.slice(at + 1)];
  if (at < 1) return;
  const column = columnOf(before, reading);
  if (operator === "in") {
    if (column === undefined || !SOURCE_COLUMNS.has(column)) return;
    const list = parenthesized(behind)?.filter((token) => !isSign(token, ","));
    if (list?.length && list.every(({ kind }) => kind === "text")) {
      found.isOneOf(column, list.map(({ value }) => value));
    }
  } else if (operator === "between") {
    const and = behind.findIndex((token) => token.depth === depth && isWord(token, "and"));
    const [least, most] = [behind.slice(0, and), behind.slice(and + 1)].map((part) =>
      valueOf(part, reading)
    );
    // One alone may be part of more, as in `BETWEEN 1 AND 2 = 0`.
    if (least === undefined || most === undefined) return;
    compare(found, column, ">=", least);
    compare(found, column, "<=", most);
  } else if (column !== undefined) {
    compare(found, column, operator, valueOf(behind, reading));
  } else {
    const mirrored = MIRRORED[operator] ?? "";
    compare(found, columnOf(behind, reading), mirrored, valueOf(before, reading));
  }
}

function columnOf(tokens: readonly Token[], reading: Reading): string | undefined {
  const last = tokens.at(-1);
  if (last?.kind !== "name") return undefined;
  if (tokens.length === 1) return last.value;
  const [table, dot] = tokens;
  const isOwn = tokens.length === 3 && isSign(dot, ".") && table?.kind === "name" &&
    table.value === reading.table;
  return isOwn ? last.value : undefined;
}

interface Value {
  readonly value: unknown;
  /** It holds the time at which the statement runs, which is a little later. */
  readonly marginUs: number;
}

function valueOf(tokens: readonly Token[], { evaluate }: Reading): Value | undefined {
  const isConstant = tokens.length > 0 &&
    tokens.every((token, at) =>
      token.kind === "text" || token.kind === "number" ||
      token.kind === "sign" && /^([-+*/%(),]|\|\|)$/.test(token.value) ||
      token.kind === "name" && !token.isQuoted && FUNCTIONS.test(token.value) &&
        isSign(tokens[at + 1], "(")
    );
  if (!isConstant) return undefined;
  const text = tokens.map(({ kind, value }) =>
    kind === "text" ? `'${value.replaceAll("'", "''")}'` : value
  ).join(" ");
  const isPlain = tokens.every(({ kind }) => kind !== "name");
  return { value: evaluate(text), marginUs: isPlain ? MARGIN_US : MINUTE_US };
}

function compare(
  found: NarrowingBuilder,
  column: string | undefined,
  operator: string,
  worth: Value | undefined,
): void {
  if (column === undefined || worth === undefined) return;
  const { value, marginUs } = worth;
  const isEqual = operator === "=" || operator === "==";
  if (SOURCE_COLUMNS.has(column) && isEqual && typeof value === "string") {
    found.isOneOf(column, [value]);
  }
  const us = column === "received_us" && typeof value === "number"
    ? value
    : column === "time_received"
    ? microseconds(value)
    : undefined;
  if (us === undefined) return;
  if (isEqual || operator.startsWith(">")) found.atLeast(Math.floor(us - marginUs));
  // As texts, `05.678Z` is before `05Z`.
  const restUs = column === "time_received" ? SECOND_US : 0;
  if (isEqual || operator.startsWith("<")) found.atMost(Math.ceil(us + restUs + marginUs));
}

/** The moment of a text that begins as those of the column do; they are in the order of time. */
function microseconds(value: unknown): number | undefined {
  if (typeof value !== "string" || !TIME.test(value)) return undefined;
  const ms = Date.parse(value.length === 10 || value.endsWith("Z") ? value : `${value}Z`);
  // Days that there are not are others' days to it.
  const isDay = !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(value.slice(0, 10));
  return isDay ? ms * 1_000 : undefined;
}

function isKeyword({ kind, isQuoted }: Token): boolean {
  return kind === "name" && !isQuoted;
}

function isWord(token: Token | undefined, word: string): boolean {
  return token !== undefined && isKeyword(token) && token.value === word;
}

function isSign(token: Token | undefined, sign: string): boolean {
  return token?.kind === "sign" && token.value === sign;
}
