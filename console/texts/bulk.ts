import type { Texts } from "./text.ts";

/** Doing something with many machines at once. */
export const bulk = {
  select: ["Select {name}", "{name} auswählen"],
  selectAll: ["Select all {n} that are shown", "Alle {n} angezeigten auswählen"],
  selected: ["{n} selected", "{n} ausgewählt"],
  clear: ["Clear selection", "Auswahl aufheben"],
  tag: ["Tag", "Taggen"],
  restart: ["Restart", "Neu starten"],
  move: ["Move", "Verschieben"],
  fragment: ["Add fragment", "Fragment hinzufügen"],
  tagTitle: ["Tag {n} {n|machine|machines}", "{n} {n|Maschine|Maschinen} taggen"],
  restartTitle: [
    "Restart the server of {n} {n|machine|machines}",
    "Den Server von {n} {n|Maschine|Maschinen} neu starten",
  ],
  moveTitle: ["Move {n} {n|machine|machines}", "{n} {n|Maschine|Maschinen} verschieben"],
  fragmentTitle: [
    "Add a fragment to {n} {n|machine|machines}",
    "{n} {n|Maschine|Maschinen} ein Fragment hinzufügen",
  ],
  addTags: ["Tags to add, apart by commas", "Neue Tags, durch Kommas getrennt"],
  removeTags: ["Tags to remove, apart by commas", "Zu entfernende Tags, durch Kommas getrennt"],
  target: ["To the location", "An den Standort"],
  whichFragment: ["Fragment", "Fragment"],
  noFragments: ["There is no fragment yet.", "Es gibt noch kein Fragment."],
  makeFragment: ["Make one", "Eines anlegen"],
  restartText: [
    "What they do is interrupted for some seconds. A machine that is offline restarts when it is back.",
    "Was sie tun, wird einige Sekunden unterbrochen. Eine Maschine, die offline ist, startet neu, sobald sie zurück ist.",
  ],
  touches: ["It touches:", "Betroffen:"],
  touchesNone: ["It touches no machine.", "Keine Maschine ist betroffen."],
  thereAlready: [
    "Left out, as {n|it is|they are} there already: {n}",
    "Ausgelassen, schon dort: {n}",
  ],
  more: ["and {n} more", "und {n} weitere"],
  without: [
    "Left out, as you may not change {n|it|them}: {n}",
    "Ausgelassen, weil Sie {n|sie|sie} nicht ändern dürfen: {n}",
  ],
  run: ["Do it", "Ausführen"],
  progress: ["{done} of {n} done", "{done} von {n} erledigt"],
  done: ["Done for {n} {n|machine|machines}.", "Für {n} {n|Maschine|Maschinen} erledigt."],
  doneUnchanged: [
    "Done for {n} {n|machine|machines}; {unchanged} had it already.",
    "Für {n} {n|Maschine|Maschinen} erledigt; {unchanged} {unchanged|hatte|hatten} es schon.",
  ],
  stop: ["Stop", "Anhalten"],
  stopped: [
    "Stopped: done for {done} of {n}, the others are as before.",
    "Angehalten: für {done} von {n} erledigt, die übrigen sind wie vorher.",
  ],
  stoppedFailed: [
    "Stopped: done for {done} of {n}, and {failed} failed; the others are as before.",
    "Angehalten: für {done} von {n} erledigt, {failed} fehlgeschlagen; die übrigen sind wie vorher.",
  ],
  partly: [
    "Done for {done} of {n}, {failed} failed.",
    "Für {done} von {n} erledigt, {failed} fehlgeschlagen.",
  ],
  undone: [
    "Undone for {n} {n|machine|machines}.",
    "Für {n} {n|Maschine|Maschinen} zurückgenommen.",
  ],
  undoneNotFor: [
    "Undone for {n}, not for {names}: {reason}",
    "Für {n} zurückgenommen, nicht für {names}: {reason}",
  ],
  movedMeanwhile: [
    "it was moved elsewhere meanwhile.",
    "wurde inzwischen an einen anderen Standort verschoben.",
  ],
  failed: ["{n} failed:", "{n} fehlgeschlagen:"],
  retryFailed: ["Try these again", "Diese erneut versuchen"],
} as const satisfies Texts;
