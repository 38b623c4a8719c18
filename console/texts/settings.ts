import type { Texts } from "./text.ts";

/** Settings of a machine, and what can be done to it as a whole. */
export const settings = {
  title: ["Settings", "Einstellungen"],
  name: ["Name", "Name"],
  location: ["Location", "Standort"],
  tags: ["Tags, apart by commas", "Tags, durch Kommas getrennt"],
  position: ["Position: latitude, longitude", "Position: Breite, Länge"],
  positionHint: [
    "Degrees, such as 48.137, 11.575. What its movement sensors capture as Position comes first.",
    "Grad, etwa 48.137, 11.575. Was ihre Bewegungssensoren als Position erfassen, geht vor.",
  ],
  positionWrong: [
    "Write two numbers: latitude from -90 to 90, a comma, longitude from -180 to 180.",
    "Schreiben Sie zwei Zahlen: Breite von -90 bis 90, ein Komma, Länge von -180 bis 180.",
  ],
  save: ["Save", "Speichern"],
  saved: ["Saved.", "Gespeichert."],
  programs: ["Programs", "Programme"],
  restartServer: ["Restart server", "Server neu starten"],
  restartServerText: [
    "Resources are not available for some seconds; what moves is stopped.",
    "Ressourcen sind einige Sekunden nicht verfügbar; was sich bewegt, wird angehalten.",
  ],
  restartAgent: ["Restart agent", "Agent neu starten"],
  restartAgentText: [
    "The server keeps running; the agent is away for some seconds.",
    "Der Server läuft weiter; der Agent ist einige Sekunden weg.",
  ],
  updateNow: ["Update now", "Jetzt aktualisieren"],
  updateNowText: [
    "Installs what is downloaded and waits, although the maintenance window is closed.",
    "Installiert, was geladen ist und wartet, auch wenn das Wartungsfenster geschlossen ist.",
  ],
  forgetBad: ["Try blocked versions again", "Gesperrte Versionen erneut versuchen"],
  forgetBadText: [
    "Versions that failed on this machine and were blocked may be installed again.",
    "Versionen, die hier gescheitert sind und gesperrt wurden, dürfen wieder installiert werden.",
  ],
  asked: [
    "The machine does it as soon as it is reached.",
    "Die Maschine tut es, sobald sie erreichbar ist.",
  ],
  noAgent: [
    "No agent has reported from this machine.",
    "Von dieser Maschine hat sich noch kein Agent gemeldet.",
  ],
  danger: ["Delete the machine", "Maschine löschen"],
  dangerText: [
    "Its configuration with the history, its logs and its keys are gone for good. Captured data stays. The computer itself keeps running with what it has, and is refused by the cloud.",
    "Konfiguration samt Verlauf, Logs und Schlüssel sind endgültig weg. Erfasste Daten bleiben. Der Rechner selbst läuft mit seinem Stand weiter und wird von der Cloud abgewiesen.",
  ],
  delete: ["Delete machine", "Maschine löschen"],
  deleteTitle: ["Delete {name}?", "{name} löschen?"],
  deleted: ["{name} is deleted.", "{name} ist gelöscht."],
  denied: [
    "Only owners of the machine change its settings.",
    "Nur Besitzer der Maschine ändern ihre Einstellungen.",
  ],
  deniedDo: ["Ask one of them for the right.", "Bitten Sie einen von ihnen um das Recht."],
} as const satisfies Texts;
