import { queryProblems as problems } from "../texts/query_problems.ts";
import type { Row } from "./problem_sentences.ts";

/** What SQLite seldom finds wrong in a query. */
export const QUERY: readonly Row[] = [
  [/^(?<n>\d+)\w\w ORDER BY term (?:out of range|does not match)/, problems.orderTerm],
  [/^(?<n>\d+)\w\w GROUP BY term out of range/, problems.groupTerm],
  [/^SELECTs to the left and right of (?<operator>[A-Z ]+) do not have/, problems.widths],
  [/^sub-select returns (?<n>\d+) columns - expected (?<wanted>\d+)$/, problems.subselect],
  [/^no tables specified$/, problems.noTables],
  [/HAVING clause on a non-aggregate query$|^a GROUP BY clause is required/, problems.having],
  [/^aggregate functions are not allowed in the GROUP BY/, problems.aggregateGroup],
  [/^row value misused$/, problems.rowValue],
  [/^parser stack overflow$|^Expression tree is too large|^Recursion limit$/, problems.deep],
  [/^too many (?:terms|columns|arguments|levels|attached|FROM)\b/, problems.large],
  [/^at most \d+ tables\b/, problems.large],
  [/^cannot join using column (?<name>\S+) - /, problems.joinColumn],
  [/^(?<clause>[A-Z ]+) clause should come after (?<operator>[A-Z ]+) not/, problems.clauseOrder],
  [/^circular reference: (?<name>\S+)$/, problems.recursive],
  [
    /^(?:multiple )?recursive reference(?:s)?(?: in a subquery)?: (?<name>\S+)$/,
    problems.recursive,
  ],
  [/^a NATURAL join may not have/, problems.natural],
  [/^no such index: (?<name>\S+)$/, problems.noIndex],
  [/^no such window: (?<name>\S+)$/, problems.noWindow],
  [/^no such collation sequence: (?<name>\S+)$/, problems.noCollation],
  [/^(?<name>\w+)\(\) may not be used as a window function$/, problems.notWindow],
  [/^DISTINCT (?:is not supported|aggregates must|may not)/, problems.distinct],
  [/^integer overflow$/, problems.overflow],
  [/^string or blob too big$/, problems.big],
  [/^malformed JSON$/, problems.json],
  [/^bad JSON path: (?<path>.+)$/, problems.jsonPath],
  [/^LIKE or GLOB pattern too complex$/, problems.pattern],
  [/^ESCAPE expression must be a single character$/, problems.escape],
  [/^all VALUES must have the same number of terms$/, problems.values],
];
