import { regexReasons as reasons } from "../texts/regex_reasons.ts";
import type { Row } from "./problem_sentences.ts";

/** Why RE2, for triggers, and the cloud's JavaScript, for log rules, cannot read an expression. */
export const REGEX: readonly Row[] = [
  [/^missing closing \]|^Unterminated character class$/, reasons.bracket],
  [/^missing closing \)|^Unterminated group$/, reasons.paren],
  [/^unexpected \)|^Unmatched '\)'$/, reasons.unexpectedParen],
  [/^missing argument to repetition operator|^Nothing to repeat$/, reasons.repeatNothing],
  [/^invalid nested repetition operator/, reasons.repeatTwice],
  [/^invalid repeat count|^numbers out of order in \{\} quantifier$/, reasons.repeatSize],
  [/^invalid character class range|^Range out of order in character class$/, reasons.range],
  [/^invalid escape sequence|^Invalid (?:\w+ )*escape$/, reasons.escape],
  [/^trailing backslash|^\\ at end of pattern$/, reasons.backslash],
  [
    /^invalid or unsupported Perl syntax|^invalid named capture: `\(\?<[=!]|^Invalid group$/,
    reasons.group,
  ],
  [/^invalid named capture|^Invalid capture group name$/, reasons.groupName],
  [/^duplicate capture group name|^Duplicate capture group name$/, reasons.groupTwice],
  [/^expression too large|too large$/, reasons.large],
  [/^expression nests too deeply/, reasons.deep],
  [/^longer than (?<most>\d+) characters$/, reasons.longer],
];
