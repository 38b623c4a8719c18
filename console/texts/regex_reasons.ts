import type { Texts } from "./text.ts";

/** Why a regular expression cannot be read, within a sentence. */
export const regexReasons = {
  bracket: ["a ] is missing", "eine ] fehlt"],
  paren: ["a ) is missing", "eine ) fehlt"],
  unexpectedParen: ["a ) has no ( before it", "zu einer ) fehlt die ( davor"],
  repeatNothing: [
    "* + ? or { has nothing before it to repeat",
    "vor * + ? oder { steht nichts, was sich wiederholen ließe",
  ],
  repeatTwice: [
    "* + ? or { stands twice in a row",
    "* + ? oder { steht zweimal hintereinander",
  ],
  repeatSize: [
    "the count in { } is not allowed",
    "die Anzahl in { } ist nicht erlaubt",
  ],
  range: ["a range in [ ] ends before it begins", "ein Bereich in [ ] endet vor seinem Anfang"],
  escape: ["what follows a \\ is not known", "was auf ein \\ folgt, ist nicht bekannt"],
  backslash: ["it ends with a \\", "er endet mit einem \\"],
  group: [
    "it has a group of a kind that is not known, such as (?= or (?<",
    "er hat eine Gruppe unbekannter Art, etwa (?= oder (?<",
  ],
  groupName: ["the name of a group is not allowed", "der Name einer Gruppe ist nicht erlaubt"],
  groupTwice: ["two groups have one name", "zwei Gruppen haben denselben Namen"],
  large: ["it is too large", "er ist zu groß"],
  deep: ["it is nested too deep", "er ist zu tief verschachtelt"],
  longer: ["it has more than {most} characters", "er hat mehr als {most} Zeichen"],
} satisfies Texts;
