/** What the page says about versions, from what the cloud tells. Pure functions. */

import { bytes, duration } from "./format.js";

const STEPS = {
  STATE_IDLE: "up to date",
  STATE_DOWNLOADING: "downloading",
  STATE_WAITING: "ready, waiting",
  STATE_INSTALLING: "installing",
  STATE_TRIAL: "on trial",
  STATE_ROLLING_BACK: "going back",
  STATE_FAILED: "cannot be had now",
  STATE_REFUSED: "refused",
};

/**
 * One program of a machine: what is installed, runs and ought to run, how far it is, and sentences
 * about it; each with how it is meant: "problem", "soft" or "".
 *
 * @param status what the agent reported; undefined: nothing
 * @param target what the cloud wants
 */
export function programView(status = {}, target = {}, now = Date.now()) {
  return {
    installed: status.installed || "not known",
    running: status.running || (status.installed ? "does not run" : "not known"),
    wanted: wantedText(target),
    step: stepText(status, target),
    notes: notesOf(status, target, now),
  };
}

/** What the whole machine waits for, and what is wrong with its agent's settings. */
export function machineNotes(agent = {}, now = Date.now()) {
  const notes = [];
  if (agent.waitingFor) {
    notes.push(note(`Waits for ${agent.waitingFor}${since(agent.waitingSince, now)}.`));
  }
  const { state, since: at, failures, lastExit } = agent.serverProcess ?? {};
  if (state && state !== "running") {
    const how = [failures ? `${failures} failed starts` : "", lastExit].filter(Boolean).join(", ");
    notes.push(note(`The server is ${state}${since(at, now)}${how ? `: ${how}` : ""}.`, "problem"));
  }
  for (const problem of agent.settingsProblems ?? []) {
    notes.push(note(`Not used of the agent's settings: ${problem}`, "problem"));
  }
  return notes;
}

/** One release: who gets it, and how far that is. */
export function releaseView(release, progress) {
  const { rollout, withdrawnAt, goesBack } = release;
  return {
    program: release.binary,
    version: release.version,
    channel: (release.channel ?? "").replace("CHANNEL_", "").toLowerCase(),
    platforms: (release.files ?? []).map((file) => file.platform).join(", "),
    goesTo: withdrawnAt
      ? `withdrawn; machines ${goesBack ? "go back" : "keep it"}`
      : rollout
      ? rolloutText(rollout)
      : "all on its channel",
    isStopped: rollout?.state === "STATE_STOPPED" && !withdrawnAt,
    progress: progressText(progress),
    notes: release.notes ?? "",
  };
}

function wantedText({ version, asked, pinned }) {
  if (!version) return asked ? `${asked}: nothing` : "nothing";
  if (version === "customURL") return asked;
  return pinned || !asked ? version : `${version} (${asked})`;
}

function stepText(status, target) {
  const { state } = status;
  if (!state) return !target.version || target.version === status.installed ? "" : "not known";
  if (state === "STATE_DOWNLOADING") {
    const got = Number(status.bytesDownloaded ?? 0);
    const all = Number(status.totalBytes ?? 0);
    return all > 0 ? `downloading ${bytes(got)} of ${bytes(all)}` : `downloading ${bytes(got)}`;
  }
  return STEPS[state] ?? "not known";
}

function notesOf(status, target, now) {
  const notes = [];
  if (target.problem) notes.push(note(sentence(target.problem), "problem"));
  if (target.heldBack) notes.push(note(sentence(target.heldBack), "soft"));
  if (status.error) notes.push(note(sentence(status.error), "problem"));
  if (status.waitingFor) {
    notes.push(note(`Waits for ${status.waitingFor}${since(status.waitingSince, now)}.`));
  }
  if (status.state === "STATE_TRIAL" && status.trialUntil) {
    const left = (Date.parse(status.trialUntil) - now) / 1000;
    if (left > 0) notes.push(note(`Is trusted in ${duration(left)} if all goes well.`, "soft"));
  }
  const { lastRollback } = status;
  if (lastRollback) {
    const way = `Went back from ${lastRollback.from} to ${lastRollback.to}`;
    notes.push(note(`${way}${ago(lastRollback.at, now)}: ${lastRollback.reason}`, "problem"));
  }
  for (const bad of status.bad ?? []) {
    notes.push(note(`${bad.version} is kept out${since(bad.at, now)}: ${bad.reason}`, "problem"));
  }
  return notes;
}

function rolloutText({ percent = 0, tags = [], state, reason }) {
  const whom = [
    ...(percent > 0 || tags.length === 0 ? [`${percent} % of the machines`] : []),
    ...tags.map((tag) => `tag ${tag}`),
  ].join(" and ");
  if (state === "STATE_PAUSED") return `paused at ${whom}`;
  return state === "STATE_STOPPED" ? `stopped at ${whom}: ${reason}` : whom;
}

function progressText(progress) {
  if (!progress) return "";
  const { pending = 0, updating = 0, done = 0, rolledBack = 0 } = progress;
  return `${done} done, ${updating} updating, ${pending} pending, ${rolledBack} rolled back`;
}

function note(text, kind = "") {
  return { text, kind };
}

function sentence(text) {
  const upper = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(upper) ? upper : `${upper}.`;
}

function since(at, now) {
  return at ? `, for ${duration((now - Date.parse(at)) / 1000)}` : "";
}

function ago(at, now) {
  return at ? ` ${duration((now - Date.parse(at)) / 1000)} ago` : "";
}
