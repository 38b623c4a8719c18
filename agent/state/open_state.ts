import { existsSync } from "node:fs";
import type { Logger } from "../../shared/log/logger.ts";
import { moveSqlite, restoreSqlite } from "../../shared/base/store/copy.ts";
import { StoreError } from "../../shared/base/store/sqlite.ts";
import { AgentState } from "./agent_state.ts";
import { copiesOf } from "./state_copies.ts";

/**
 * Opens the agent's state whatever an update or a bad disk left of it: this agent is the way to a
 * machine that nobody can touch.
 *
 * - One of a newer version is what a version on trial left: the copy from before it is used again,
 *   the newest that this version can read. The other goes aside as `PATH.newer`.
 * - A damaged one goes aside as `PATH.damaged`, and an empty one takes its place; the links in
 *   `bin/` then say what is installed.
 * - On a full disk it is opened for this process alone: what is there can be read.
 *
 * @throws {StoreError} when there is no copy to use, or the disk cannot be read or written.
 */
export async function openAgentState(path: string, log: Logger): Promise<AgentState> {
  try {
    return AgentState.open(path);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    switch (error.code) {
      case "newer-schema":
        return await openCopy(path, error, log);
      case "corrupt":
      case "not-a-database":
        return await beginAnew(path, error, log);
      case "failed":
      case "disk-full":
        return openOnFullDisk(path, error, log);
      default:
        throw error;
    }
  }
}

function openOnFullDisk(path: string, error: StoreError, log: Logger): AgentState {
  const state = AgentState.open(path, { isAlone: true });
  log.error("the agent's state cannot be written; free some space", {
    event: "state_not_written",
    error,
  });
  return state;
}

async function openCopy(path: string, error: StoreError, log: Logger): Promise<AgentState> {
  for (const copy of copiesOf(path)) {
    if (!isUsable(copy)) continue;
    await restoreSqlite(copy, path, `${path}.newer`);
    log.warn("the state from before an update is used again", { copy, newer: `${path}.newer` });
    return AgentState.open(path);
  }
  throw error;
}

/** Looks without changing anything but what a copy may have next to it. */
function isUsable(copy: string): boolean {
  try {
    AgentState.open(copy).close();
    return true;
  } catch {
    return false; // Of another version, or damaged; the next one may do.
  }
}

async function beginAnew(path: string, error: StoreError, log: Logger): Promise<AgentState> {
  const aside = `${path}.damaged`;
  if (existsSync(path)) await moveSqlite(path, aside);
  log.error("the agent's state is damaged and was moved aside; it starts empty", {
    event: "state_damaged",
    error,
    aside,
  });
  return AgentState.open(path);
}
