import type { Texts } from "./text.ts";

/** What the editor of JSON says itself; it knows each by the English text. */
export const editorPhrases = {
  find: ["Find", "Suchen"],
  replaceBy: ["Replace", "Ersetzen durch"],
  next: ["next", "nächste"],
  previous: ["previous", "vorige"],
  all: ["all", "alle"],
  matchCase: ["match case", "Groß und klein unterscheiden"],
  regexp: ["regexp", "regulärer Ausdruck"],
  byWord: ["by word", "ganze Wörter"],
  replace: ["replace", "ersetzen"],
  replaceAll: ["replace all", "alle ersetzen"],
  close: ["close", "schließen"],
  currentMatch: ["current match", "gefundene Stelle"],
  onLine: ["on line", "in Zeile"],
  replacedOne: ["replaced match on line $", "Stelle in Zeile $ ersetzt"],
  replacedMany: ["replaced $ matches", "$ Stellen ersetzt"],
  goToLine: ["Go to line", "Gehe zu Zeile"],
  go: ["go", "gehen"],
  completions: ["Completions", "Vorschläge"],
  diagnostics: ["Diagnostics", "Befunde"],
  noDiagnostics: ["No diagnostics", "Keine Befunde"],
  foldLine: ["Fold line", "Zeile einklappen"],
  unfoldLine: ["Unfold line", "Zeile ausklappen"],
  foldedLines: ["Folded lines", "Eingeklappte Zeilen"],
  unfoldedLines: ["Unfolded lines", "Ausgeklappte Zeilen"],
  to: ["to", "bis"],
  foldedCode: ["folded code", "eingeklappter Text"],
  unfold: ["unfold", "ausklappen"],
  selectionDeleted: ["Selection deleted", "Auswahl gelöscht"],
  controlCharacter: ["Control character", "Steuerzeichen"],
} as const satisfies Texts;

/** What is wrong with a text that should be JSON, and with a value by a schema. */
export const jsonFindings = {
  from: [
    "it cannot be read from line {line}, column {column} on",
    "ab Zeile {line}, Spalte {column} nicht lesbar",
  ],
  token: ["{token} does not belong there", "{token} gehört dort nicht hin"],
  end: ["it ends too early", "es endet zu früh"],
  type: ["this must be of type {types}", "das muss vom Typ {types} sein"],
  choice: ["this must be one of {allowed}", "das muss eines davon sein: {allowed}"],
  value: ["this must be {allowed}", "das muss {allowed} sein"],
  missing: ["{name} is missing", "{name} fehlt"],
  notAllowed: ["this is not allowed here", "das ist hier nicht erlaubt"],
  least: ["this must be {bound} or more", "das muss mindestens {bound} sein"],
  most: ["this must be {bound} or less", "das darf höchstens {bound} sein"],
  above: ["this must be more than {bound}", "das muss mehr als {bound} sein"],
  below: ["this must be less than {bound}", "das muss weniger als {bound} sein"],
  multiple: ["this must be a multiple of {bound}", "das muss ein Vielfaches von {bound} sein"],
  short: [
    "this has {n} characters; {bound} or more are needed",
    "das hat {n} Zeichen; nötig sind mindestens {bound}",
  ],
  long: [
    "this has {n} characters; {bound} or less are allowed",
    "das hat {n} Zeichen; erlaubt sind höchstens {bound}",
  ],
  few: [
    "this has {n} entries; {bound} or more are needed",
    "das hat {n} Einträge; nötig sind mindestens {bound}",
  ],
  many: [
    "this has {n} entries; {bound} or less are allowed",
    "das hat {n} Einträge; erlaubt sind höchstens {bound}",
  ],
  twice: [
    "entries {first} and {second} are the same",
    "die Einträge {first} und {second} sind gleich",
  ],
  pattern: [
    "this has not the form that the schema requires",
    "das hat nicht die Form, die das Schema verlangt",
  ],
  format: ["this is no {format}", "das hat nicht die Form {format}"],
  needs: ["{name} needs {other}, too", "{name} braucht auch {other}"],
  other: [
    "this does not fit the schema ({keyword})",
    "das passt nicht zum Schema ({keyword})",
  ],
} as const satisfies Texts;
