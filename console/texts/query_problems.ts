import type { Texts } from "./text.ts";

/** What SQLite seldom finds wrong in a query. */
export const queryProblems = {
  orderTerm: [
    "ORDER BY names no column of the result with its term {n}.",
    "Mit seinem {n}. Ausdruck nennt ORDER BY keine Spalte des Ergebnisses.",
  ],
  groupTerm: [
    "GROUP BY names no column of the result with its term {n}.",
    "Mit seinem {n}. Ausdruck nennt GROUP BY keine Spalte des Ergebnisses.",
  ],
  widths: [
    "Both sides of {operator} need the same number of columns.",
    "Beide Seiten von {operator} brauchen gleich viele Spalten.",
  ],
  subselect: [
    "The SELECT in parentheses gives {n} columns; {wanted} can stand there.",
    "Das SELECT in Klammern ergibt {n} Spalten; dort stehen kann {wanted}.",
  ],
  noTables: ["SELECT * needs FROM readings.", "SELECT * braucht FROM readings."],
  having: ["HAVING needs a GROUP BY.", "HAVING braucht ein GROUP BY."],
  aggregateGroup: [
    "GROUP BY cannot use sums and counts; use HAVING.",
    "GROUP BY kann keine Summen und Anzahlen nutzen; nehmen Sie HAVING.",
  ],
  rowValue: [
    "Several values in ( ) cannot stand there.",
    "Mehrere Werte in ( ) können dort nicht stehen.",
  ],
  deep: ["It is nested too deep.", "Sie ist zu tief verschachtelt."],
  large: ["It is too large; leave something out.", "Sie ist zu groß; lassen Sie etwas weg."],
  joinColumn: [
    "Both tables of the JOIN need the column {name}.",
    "Beide Tabellen des JOIN brauchen die Spalte {name}.",
  ],
  clauseOrder: [
    "{clause} comes after {operator}, not before it.",
    "{clause} kommt nach {operator}, nicht davor.",
  ],
  recursive: ["{name} refers to itself.", "{name} bezieht sich auf sich selbst."],
  natural: ["NATURAL JOIN takes no ON and no USING.", "NATURAL JOIN nimmt kein ON und kein USING."],
  noIndex: ["There is no index {name}.", "Es gibt keinen Index {name}."],
  noWindow: ["There is no window {name}.", "Es gibt kein Fenster {name}."],
  noCollation: ["There is no collation {name}.", "Es gibt keine Sortierfolge {name}."],
  notWindow: [
    "{name}() cannot have OVER.",
    "{name}() kann kein OVER haben.",
  ],
  distinct: [
    "DISTINCT within ( ) takes one argument, of a sum or a count.",
    "DISTINCT in ( ) nimmt ein Argument, das einer Summe oder Anzahl.",
  ],
  overflow: ["A whole number became too large.", "Eine ganze Zahl wurde zu groß."],
  big: ["A value became too large.", "Ein Wert wurde zu groß."],
  json: ["A text there is no JSON.", "Ein Text dort ist kein JSON."],
  jsonPath: [
    "The path {path} into JSON is wrong; it begins with $.",
    "Der Pfad {path} in JSON ist falsch; er beginnt mit $.",
  ],
  pattern: [
    "The pattern of LIKE or GLOB is too long.",
    "Das Muster von LIKE oder GLOB ist zu lang.",
  ],
  escape: [
    "ESCAPE takes a single character.",
    "ESCAPE nimmt ein einziges Zeichen.",
  ],
  values: [
    "All rows of VALUES need the same number of values.",
    "Alle Zeilen von VALUES brauchen gleich viele Werte.",
  ],
} satisfies Texts;
