import type { Texts } from "./text.ts";

/** Plots over time. */
export const plots = {
  range: ["Time range", "Zeitraum"],
  minutes: ["Last 10 minutes", "Letzte 10 Minuten"],
  hour: ["Last hour", "Letzte Stunde"],
  day: ["Last day", "Letzter Tag"],
  week: ["Last week", "Letzte Woche"],
  own: ["Own range", "Eigener Zeitraum"],
  from: ["From", "Von"],
  to: ["To", "Bis"],
  noSpan: ["The end has to come after the start.", "Das Ende muss nach dem Anfang liegen."],
  plot: [
    "{name}: {least} to {most}, newest {newest}",
    "{name}: {least} bis {most}, zuletzt {newest}",
  ],
  newest: ["newest {value}", "zuletzt {value}"],
  at: ["{time}: {mean}", "{time}: {mean}"],
  atBand: ["{time}: {mean} ({least} to {most})", "{time}: {mean} ({least} bis {most})"],
  atX: ["{x}: {values}", "{x}: {values}"],
  curves: [
    "{name} over {n} {n|value|values}; last, {last}: {values}",
    "{name} über {n} {n|Wert|Werte}; zuletzt, {last}: {values}",
  ],
  zoom: [
    "Drag in a plot to look at a shorter time; the browser’s Back returns.",
    "Ziehen Sie im Diagramm, um eine kürzere Zeit zu sehen; Zurück im Browser führt zurück.",
  ],
} as const satisfies Texts;
