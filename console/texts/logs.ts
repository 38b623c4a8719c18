import type { Texts } from "./text.ts";

/** The logs of a machine. */
export const logs = {
  search: ["Search the lines …", "Zeilen durchsuchen …"],
  level: ["Level", "Stufe"],
  levelAll: ["All levels", "Alle Stufen"],
  levelInfo: ["Info and above", "Ab Info"],
  levelWarn: ["Warnings and errors", "Warnungen und Fehler"],
  levelError: ["Errors", "Fehler"],
  source: ["Resource or logger", "Ressource oder Logger"],
  follow: ["Follow", "Folgen"],
  pause: ["Pause", "Anhalten"],
  waiting: ["{n} new {n|line|lines}", "{n} neue {n|Zeile|Zeilen}"],
  older: ["Load older lines", "Ältere Zeilen laden"],
  noOlder: [
    "These are the oldest lines that are kept.",
    "Das sind die ältesten aufbewahrten Zeilen.",
  ],
  download: ["Download", "Herunterladen"],
  downloaded: ["{n} {n|line|lines} read", "{n} {n|Zeile|Zeilen} gelesen"],
  notAll: [
    "The file has the newest {n} lines. Narrow the time range for older ones.",
    "Die Datei enthält die neuesten {n} Zeilen. Für ältere den Zeitraum eingrenzen.",
  ],
  none: ["No lines", "Keine Zeilen"],
  noneText: [
    "The machine has not logged anything yet, or its lines are not kept any more.",
    "Die Maschine hat noch nichts protokolliert, oder ihre Zeilen sind nicht mehr aufbewahrt.",
  ],
  noneFits: [
    "No line fits the filters. Clear them to see all.",
    "Keine Zeile passt zu den Filtern. Entfernen Sie diese, um alle zu sehen.",
  ],
  lines: ["Log lines", "Logzeilen"],
  time: ["Time", "Zeit"],
  range: ["Time range", "Zeitraum"],
  from: ["From", "Von"],
  to: ["Until", "Bis"],
  noSpan: ["Before the beginning", "Vor dem Anfang"],
  fields: ["Fields", "Felder"],
  stack: ["Stack", "Stack"],
  copyLink: ["Copy a link to this time", "Link zu dieser Zeit kopieren"],
} as const satisfies Texts;
