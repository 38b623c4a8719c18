import type { Texts } from "./text.ts";

/** The list of machines. */
export const fleet = {
  title: ["Fleet", "Flotte"],
  allWell: [
    "Nothing needs you: {online} of {n} {n|machine|machines} online.",
    "Nichts zu tun: {online} von {n} {n|Maschine|Maschinen} online.",
  ],
  needYou: [
    "{n} of {all} {n|machine needs|machines need} you",
    "{n} von {all} {n|Maschine braucht|Maschinen brauchen} Sie",
  ],
  search: ["Search name, tag, version …", "Name, Tag, Version … suchen"],
  state: ["State", "Zustand"],
  anyState: ["Any state", "Jeder Zustand"],
  problems: ["With problems", "Mit Problemen"],
  location: ["Location", "Standort"],
  anyLocation: ["All locations", "Alle Standorte"],
  group: ["Group by location", "Nach Standort gruppieren"],
  count: ["{n} {n|machine|machines}", "{n} {n|Maschine|Maschinen}"],
  countOf: ["{n} of {all} machines", "{n} von {all} Maschinen"],
  colName: ["Name", "Name"],
  colState: ["State", "Zustand"],
  colLocation: ["Location", "Standort"],
  colVersion: ["Server", "Server"],
  colAgent: ["Agent", "Agent"],
  colPlatform: ["Platform", "Plattform"],
  colTags: ["Tags", "Tags"],
  colSeen: ["Last seen", "Zuletzt gesehen"],
  now: ["now", "jetzt"],
  configError: ["configuration not applied", "Konfiguration nicht angewendet"],
  unhealthy: ["{n} {n|resource|resources} unhealthy", "{n} {n|Ressource|Ressourcen} gestört"],
  empty: ["No machines yet", "Noch keine Maschinen"],
  emptyText: [
    "A machine is a computer with sensors, motors or cameras that runs machine-server. Add the first one in a minute.",
    "Eine Maschine ist ein Rechner mit Sensoren, Motoren oder Kameras, auf dem machine-server läuft. Die erste ist in einer Minute angelegt.",
  ],
  nothing: ["No machine fits", "Keine Maschine passt"],
  nothingText: [
    "No machine fits the search and the filters.",
    "Keine Maschine passt zu Suche und Filtern.",
  ],
  clearFilters: ["Clear filters", "Filter entfernen"],
  noOrganization: ["You belong to no organisation", "Sie gehören zu keiner Organisation"],
  noOrganizationText: [
    "Ask an owner to invite you, or give you a role.",
    "Bitten Sie einen Besitzer um eine Einladung oder eine Rolle.",
  ],
} as const satisfies Texts;
