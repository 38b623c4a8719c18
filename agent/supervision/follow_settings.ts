import type { Clock } from "../../shared/time/clock.ts";
import type { CurrentSettings } from "../settings/settings_source.ts";
import type { ServerVersions } from "../versions/server_versions.ts";
import { anyChange, type Watched } from "../workers/watched.ts";
import { type WantedServer, wantedServer } from "./wanted_server.ts";

export interface FollowSettingsOptions {
  readonly current: Watched<CurrentSettings>;
  readonly versions: ServerVersions;
  /** Set from the settings. */
  readonly wanted: Watched<WantedServer>;
  readonly clock: Clock;
}

/** A file that the settings name and that is missing is looked for again so often. */
const LOOK_AGAIN_MS = 10_000;

/** Keeps what is wanted in step with the settings and with the files that they name. */
export async function followSettings(
  { current, versions, wanted, clock }: FollowSettingsOptions,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const { settings, device } = current.value;
    // Before the cloud's first word nothing is known; that is not the same as naming none.
    const version = device ? await versions.wanted(device.server) : versions.installed;
    const next = wantedServer(settings, version);
    if (JSON.stringify(next) !== JSON.stringify(wanted.value)) wanted.value = next;
    if (current.value.settings !== settings) continue;
    await anyChange([current], signal, { clock, ms: LOOK_AGAIN_MS });
  }
}
