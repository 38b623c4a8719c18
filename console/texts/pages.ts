import type { Texts } from "./text.ts";

/** Titles of pages. */
export const pages = {
  fleet: ["Fleet", "Flotte"],
  machine: ["Machine", "Maschine"],
  newMachine: ["New machine", "Neue Maschine"],
  data: ["Data", "Daten"],
  training: ["Training", "Training"],
  registry: ["Registry", "Registry"],
  releases: ["Releases", "Releases"],
  triggers: ["Triggers", "Trigger"],
  organization: ["Organisation", "Organisation"],
  account: ["Account", "Konto"],
  signIn: ["Sign in", "Anmelden"],
} as const satisfies Texts;
