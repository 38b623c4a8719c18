import type { Texts } from "./text.ts";

/** Releases of machine-server and machine-agent, and how far their rollouts are. */
export const releases = {
  title: ["Releases", "Releases"],
  version: ["Version", "Version"],
  program: ["Program", "Programm"],
  channel: ["Channel", "Kanal"],
  platforms: ["Platforms", "Plattformen"],
  goesTo: ["Goes to", "Geht an"],
  rollout: ["Rollout", "Rollout"],
  stable: ["stable", "stable"],
  dev: ["dev", "dev"],
  everyone: ["all on its channel", "alle auf seinem Kanal"],
  withdrawnKept: ["withdrawn; machines keep it", "zurückgezogen; Maschinen behalten es"],
  withdrawnBack: ["withdrawn; machines go back", "zurückgezogen; Maschinen gehen zurück"],
  share: ["{percent} % of the machines", "{percent} % der Maschinen"],
  tag: ["tag {tag}", "Tag {tag}"],
  and: ["{a} and {b}", "{a} und {b}"],
  paused: ["paused at {whom}", "angehalten bei: {whom}"],
  stopped: ["stopped at {whom}: {reason}", "gestoppt bei: {whom}: {reason}"],
  progress: [
    "{done} done, {updating} updating, {pending} pending, {back} rolled back",
    "{done} fertig, {updating} im Update, {pending} ausstehend, {back} zurückgesetzt",
  ],
  empty: ["No releases yet", "Noch keine Releases"],
  emptyText: [
    "Add one on the cloud’s host, and machines whose agent follows its channel install it:",
    "Fügen Sie eines auf dem Host der Cloud hinzu; Maschinen, deren Agent dem Kanal folgt, installieren es:",
  ],
} as const satisfies Texts;
