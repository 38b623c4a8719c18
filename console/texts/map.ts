import type { Texts } from "./text.ts";

/** The map of the fleet. */
export const map = {
  label: ["Map of the fleet", "Karte der Flotte"],
  place: ["Where it is", "Wo sie ist"],
  placeMap: ["Map of where the machine is", "Karte des Ortes der Maschine"],
  capturedBy: ["Captured by {sensor}", "Erfasst von {sensor}"],
  onFleetMap: ["On the map of the fleet", "Auf der Karte der Flotte"],
  keys: [
    "Arrow keys move the map, + and − zoom. The machines in it are in the list after it.",
    "Pfeiltasten bewegen die Karte, + und − zoomen. Die Maschinen darin stehen in der Liste danach.",
  ],
  zoomIn: ["Zoom in", "Vergrößern"],
  zoomOut: ["Zoom out", "Verkleinern"],
  fit: ["Show all", "Alle zeigen"],
  cluster: ["{n} machines", "{n} Maschinen"],
  clusterNeeding: [
    "{n} machines, {needing} with problems",
    "{n} Maschinen, {needing} mit Problemen",
  ],
  needing: ["with problems", "mit Problemen"],
  here: [
    "{n} {n|machine|machines} in this part",
    "{n} {n|Maschine|Maschinen} in diesem Ausschnitt",
  ],
  picked: ["{n} {n|machine|machines} at this place", "{n} {n|Maschine|Maschinen} an diesem Ort"],
  showPart: ["Show all of this part", "Alle im Ausschnitt zeigen"],
  without: ["{n} without a position", "{n} ohne Position"],
  none: ["No machine says where it is", "Keine Maschine nennt ihren Ort"],
  noneText: [
    "Capture the method Position of a movement sensor, enter latitude and longitude in the settings of a machine, or have a program write them into its metadata.",
    "Erfassen Sie die Methode Position eines Bewegungssensors, tragen Sie Breite und Länge in den Einstellungen einer Maschine ein oder lassen Sie ein Programm sie in ihre Metadaten schreiben.",
  ],
} as const satisfies Texts;
