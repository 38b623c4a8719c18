import { join } from "node:path";
import type { MachineCredentials } from "../../shared/cloud/credentials/credentials_file.ts";
import { originCredentials } from "../../shared/transfer/download/origin_credentials.ts";
import { CacheCleaner } from "../updates/cache/clean.ts";
import type { Directories } from "../state/directories.ts";
import { Downloader } from "../updates/downloads/downloader.ts";
import { FilesInUse } from "../updates/downloads/files_in_use.ts";
import type { ReleasePolicy } from "../updates/keys/release_policy.ts";
import type { SettingsSource } from "../settings/settings_source.ts";
import type { AgentState } from "../state/agent_state.ts";
import type { ServerSupervisor } from "../server/supervision/supervisor.ts";
import { AgentSlot } from "../updates/updater/agent_slot.ts";
import type { AgentControl, RestartWindow, ServerControl } from "../updates/updater/control.ts";
import { guardPatienceS, updateLimits } from "../updates/updater/limits.ts";
import { programLink } from "../updates/updater/program_link.ts";
import { ServerSlot } from "../updates/updater/server_slot.ts";
import type { ProgramSlot } from "../updates/updater/slot.ts";
import { Turns } from "../updates/updater/turns.ts";
import { Updater } from "../updates/updater/updater.ts";
import type { Worker } from "../../shared/workers/run_workers.ts";
import type { AgentDeps } from "./deps.ts";

export interface UpdateParts {
  readonly deps: AgentDeps;
  readonly directories: Directories;
  readonly state: AgentState;
  readonly credentials: MachineCredentials;
  readonly policy: ReleasePolicy;
  readonly settings: SettingsSource["current"];
  readonly server: ServerControl;
  readonly agent: AgentControl;
  readonly window: RestartWindow;
  /** Knows the server's running process. */
  readonly supervisor: Pick<ServerSupervisor, "launched">;
}

/** The updates of both programs, with what they need: downloads and a cache that is kept small. */
export interface ComposedUpdates {
  readonly agent: Updater;
  readonly server: Updater;
  /** Lets versions whose download was refused be fetched again. */
  readonly forgetRefusals: (program: string, version: string) => void;
  readonly workers: readonly Worker[];
}

const BYTES_PER_KILOBYTE = 1_000;

/** From the bottom up: what is in use, the cache, the downloads into it, the updates. */
export function composeUpdates(parts: UpdateParts): ComposedUpdates {
  const { deps, directories, state, settings, credentials } = parts;
  const { clock } = deps;
  const log = deps.log.child("updates");
  const db = state.database;
  const inUse = new FilesInUse(["machine-agent", "machine-server"]);
  const cleaner = new CacheCleaner({
    cacheDir: directories.cache,
    db,
    keep: () => [...inUse.paths(), ...startedFiles(parts)],
    clock,
    log: deps.log.child("cache"),
  });
  const downloader = new Downloader({
    cacheDir: directories.cache,
    db,
    platform: deps.host.platform,
    credentialsFor: originCredentials(credentials.appAddress, credentials.credentials),
    bandwidthBytesPerS: () => {
      const { advanced_settings: advanced } = settings.value.settings;
      return advanced.download_limit_kilobytes_per_second * BYTES_PER_KILOBYTE;
    },
    cleaner,
    inUse,
    fetch: (input, init) => fetch(input, init),
    clock,
    log: deps.log.child("downloads"),
  });
  const turns = new Turns();
  const limits = updateLimits(deps.env);
  const { policy, window } = parts;
  const updater = (slot: ProgramSlot) =>
    new Updater({
      slot,
      state,
      downloader,
      policy,
      window,
      cleaner,
      inUse,
      turns,
      limits,
      clock,
      log,
    });
  const server = updater(
    new ServerSlot({
      link: programLink(directories.bin, "machine-server"),
      control: parts.server,
      databases: () => serverDatabases(parts),
      log,
    }),
  );
  const agent = updater(
    new AgentSlot({
      dir: directories.root,
      link: programLink(directories.bin, "machine-agent"),
      control: parts.agent,
      databases: [directories.database],
      limitS: guardPatienceS(limits),
      log,
    }),
  );
  return {
    agent,
    server,
    forgetRefusals: (program, version) =>
      downloader.forgetRefusals(program, version === "" ? undefined : version),
    workers: [
      { name: "server update", run: (signal) => server.run(signal) },
      { name: "agent update", run: (signal) => agent.run(signal) },
      { name: "cache", run: (signal) => cleaner.run(signal) },
    ],
  };
}

/** In the folder that the server's own environment names, as its settings are at the moment. */
function serverDatabases({ deps, settings, directories }: UpdateParts): string[] {
  const { machine_server_env: configured } = settings.value.settings.advanced_settings;
  const env: Readonly<Record<string, string | undefined>> = { ...deps.env, ...configured };
  const user = env["HOME"] || env["USERPROFILE"];
  const home = env["MACHINE_HOME"] || (user ? join(user, ".machine") : undefined);
  // The server is started in the agent's folder, to which a relative path belongs.
  return home === undefined ? [] : [join(resolvedIn(directories.root, home), "server.db")];
}

function resolvedIn(folder: string, path: string): string {
  return path.startsWith("/") || /^[a-z]:/i.test(path) ? path : join(folder, path);
}

/** What runs, and what the links would start: they may be ahead of the records, or behind. */
function startedFiles({ deps, directories, supervisor }: UpdateParts): string[] {
  const links = ["machine-server", "machine-agent"].flatMap((program) =>
    linkTarget(join(directories.bin, program))
  );
  const running = [deps.self.path, supervisor.launched?.version.path].filter((path) =>
    path !== undefined
  );
  return [...links, ...running];
}

function linkTarget(path: string): string[] {
  try {
    return [Deno.readLinkSync(path)];
  } catch {
    return []; // There is none, or Windows names the version in another way.
  }
}
