import { basename } from "node:path";
import {
  SYSTEM_PARTS,
  type SystemPart,
  type SystemReport,
} from "../system/outcomes/system_outcome.ts";
import type { ProgramReport } from "./report.ts";
import type { Status } from "./status.ts";

/** The status for people, ending with a line feed. */
export function renderStatus(status: Status, now: Date): string {
  const { report } = status;
  const lines = [
    ...agentRows(status, now),
    ...(report
      ? [
        ...programRows("machine-server", report.server, serverState(status, now), now),
        ...(report.waiting_for === "" ? [] : [
          row("waits for", `${report.waiting_for}${since(report.waiting_since, now)}`),
        ]),
        ...report.settings_problems.map((problem) => row("setting", problem)),
        ...systemRows(report.system),
        ...networkRows(status, now),
        row("cloud", cloudText(status, now)),
      ]
      : [row("machine-server", basename(status.links.server) || "none")]),
    row("credentials", credentialsText(status)),
    row("service", serviceText(status)),
    row("folder", status.dir),
  ];
  return `${lines.join("\n")}\n`;
}

const SYSTEM_NAMES: Readonly<Record<SystemPart, string>> = {
  journald: "journald",
  upgrades: "OS upgrades",
  log_forwarding: "system logs",
};

/** What was applied, or is being; what failed stands among the problems. */
function systemRows(system: SystemReport | undefined): string[] {
  if (!system) return [];
  return SYSTEM_PARTS.flatMap((part) => {
    const outcome = system[part];
    const isShown = outcome?.state === "applied" || outcome?.state === "working";
    return isShown ? [row(SYSTEM_NAMES[part], outcome.text)] : [];
  });
}

const NAME_WIDTH = 16;

function row(name: string, text: string): string {
  return `${name.padEnd(NAME_WIDTH)}${text}`;
}

/** A row that belongs to the one above. */
function detail(name: string, text: string): string {
  return row(`  ${name}`, text);
}

function agentRows(status: Status, now: Date): string[] {
  const { report, is_running, agent_trial, links } = status;
  const trial = agent_trial
    ? [
      detail(
        "guard",
        `${basename(agent_trial.trial)} is on trial, started ${agent_trial.starts} times; ` +
          `before it ${basename(agent_trial.previous)}`,
      ),
    ]
    : [];
  if (!report) {
    const known = basename(links.agent) || "none in this folder";
    return [row("machine-agent", `${known}, not running or never run here`), ...trial];
  }
  const { pid, started_at } = report.process;
  const state = is_running
    ? `running${since(started_at, now, "for")} (process ${pid})`
    : `NOT RUNNING; what follows was so ${ago(report.written_at, now)} ago`;
  return [...programRows("machine-agent", report.agent, state, now), ...trial];
}

function serverState({ report, is_running }: Status, now: Date): string {
  if (!report) return "";
  const { state, since: from, failures, last_exit } = report.server_process;
  const failed = failures > 0 ? `, failed ${failures} times` : "";
  const exit = failures > 0 && last_exit !== "" ? ` (${last_exit})` : "";
  return `${is_running ? "" : "was "}${state}${since(from, now, "for")}${failed}${exit}`;
}

function programRows(
  name: string,
  program: ProgramReport,
  state: string,
  now: Date,
): string[] {
  const { installed, running, target, previous, error, waiting_for, waiting_since } = program;
  const shown = running || installed || "none";
  const rows = [row(name, `${shown}, ${state}`)];
  const add = (label: string, text: string) => rows.push(detail(label, text));
  if (running !== "" && installed !== "" && running !== installed) add("installed", installed);
  if (target !== "" && (target !== installed || program.state !== "idle")) {
    add("target", `${target}, ${progressText(program, now)}`);
  } else if (program.state !== "idle") add("update", progressText(program, now));
  if (error !== "") add("problem", error);
  if (waiting_for !== "") add("waits for", `${waiting_for}${since(waiting_since, now)}`);
  if (previous !== "") add("previous", previous);
  for (const { version, reason, at } of program.bad) add("bad", `${version}: ${reason} (${at})`);
  const { last_rollback: back } = program;
  if (back) add("rolled back", `${back.from} -> ${back.to} at ${back.at}: ${back.reason}`);
  return rows;
}

function progressText(program: ProgramReport, now: Date): string {
  const { state, bytes_downloaded: done, total_bytes: total, trial_until } = program;
  const mega = (bytes: number) => (bytes / 1e6).toFixed(1);
  switch (state) {
    case "downloading":
      return `downloading: ${mega(done)}${total > 0 ? ` of ${mega(total)}` : ""} MB`;
    case "waiting":
      return "ready to be installed";
    case "trial": {
      const left = trial_until === null ? 0 : Date.parse(trial_until) - now.getTime();
      return left > 0 ? `on trial for another ${duration(left)}` : "on trial";
    }
    case "rolling-back":
      return "is being rolled back";
    case "refused":
      return "refused, because it is one of the bad versions";
    default:
      return state;
  }
}

function cloudText({ report, is_running }: Status, now: Date): string {
  if (!report) return "";
  const { address, is_connected, since: from } = report.cloud;
  const was = is_running ? "" : "was ";
  return `${address}, ${was}${is_connected ? "connected" : "not reached"}${
    since(from, now, "for")
  }`;
}

function networkRows({ report }: Status, now: Date): string[] {
  const networks = report?.networks;
  if (!networks) return [];
  const { state, detail, since: from, problems, reboots } = networks;
  const restarts = reboots > 0 ? `; reboots of the host for it: ${reboots}` : "";
  const text = `${state}${detail === "" ? "" : ` (${detail})`}${
    since(from, now, "for")
  }${restarts}`;
  return [row("networks", text), ...problems.map((problem) => row("  problem", problem))];
}

function credentialsText({ credentials }: Status): string {
  const { file, state, problem, part_id } = credentials;
  if (state !== "ok") return problem;
  return `${file}, part ${part_id}${problem === "" ? "" : `; ${problem}`}`;
}

function serviceText({ service }: Status): string {
  if (!service) return "not installed";
  const { manager, state, startup, restarts, result } = service;
  const again = restarts > 0 ? `, restarted ${restarts} times` : "";
  const ended = result === "" || result === "success" ? "" : `, exited with ${result}`;
  return `${manager}: ${state}${startup === "" ? "" : `, ${startup}`}${again}${ended}`;
}

/** `, for 5 min` or ` since 2026-…, 5 min`; empty when the time is unknown. */
function since(time: string | null, now: Date, word: "since" | "for" = "since"): string {
  if (time === null) return "";
  return word === "for" ? ` for ${ago(time, now)}` : `, since ${time} (${ago(time, now)})`;
}

/** Clocks jump: a time in the future counts as now. */
function ago(time: string, now: Date): string {
  return duration(Math.max(0, now.getTime() - Date.parse(time)));
}

function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48
    ? `${hours} h ${minutes % 60} min`
    : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}
