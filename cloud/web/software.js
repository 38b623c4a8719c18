/** Versions on the page: those of one machine, and the releases there are. */

import { releaseCall } from "./api.js";
import { h } from "./dom.js";
import { machineNotes, programView, releaseView } from "./versions.js";

/** What runs on a machine, what ought to, and what is in the way. */
export function softwareView(live) {
  const { agent = {}, agentTarget, serverTarget } = live;
  const programs = [
    ["machine-server", programView(agent.server, serverTarget)],
    ["machine-agent", programView(agent.agent, agentTarget)],
  ];
  const rows = programs.map(([name, view]) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, name),
      h("td", {}, view.installed),
      h("td", {}, view.running),
      h("td", {}, view.wanted),
      h("td", {}, view.step),
    )
  );
  const notes = [
    ...machineNotes(agent).map((note) => ["", note]),
    ...programs.flatMap(([name, { notes }]) => notes.map((note) => [name, note])),
  ];
  return h(
    "div",
    {},
    tableOf(["Program", "Installed", "Running", "Wanted", "State"], rows),
    notes.length === 0 ? undefined : h("ul", { className: "notes" }, notes.map(noteView)),
  );
}

function noteView([program, { text, kind }]) {
  return h(
    "li",
    { className: kind },
    program ? h("strong", {}, `${program}: `) : undefined,
    text,
  );
}

/** The releases and how far their rollouts are; nothing where there are none. */
export async function releasesSection() {
  const { releases = [] } = await releaseCall("ListReleases");
  if (releases.length === 0) return [];
  const progress = await progressByName();
  const rows = releases.map((release) => {
    const key = `${release.binary} ${release.version}`;
    const view = releaseView(release, progress.get(key));
    return h(
      "tr",
      {},
      h("th", { scope: "row", className: "whole" }, view.version),
      h("td", { className: "whole" }, view.program),
      h("td", { className: "whole" }, view.channel),
      h("td", { className: "soft" }, view.platforms),
      h("td", { className: view.isStopped ? "problem" : "" }, view.goesTo),
      h("td", {}, view.progress),
    );
  });
  const headings = ["Version", "Program", "Channel", "Platforms", "Goes to", "Rollout"];
  return [h("section", {}, h("h2", {}, "Releases"), tableOf(headings, rows))];
}

/** Only who keeps the releases may know how far they are. */
async function progressByName() {
  const { rollouts = [] } = await releaseCall("ListRollouts").catch((error) => {
    if (error.code === "permission_denied") return {};
    throw error;
  });
  return new Map(
    rollouts.map(({ binary, version, progress }) => [`${binary} ${version}`, progress]),
  );
}

function tableOf(headings, rows) {
  return h(
    "div",
    { className: "scroll" },
    h(
      "table",
      { className: "card" },
      h("thead", {}, h("tr", {}, headings.map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, rows),
    ),
  );
}
