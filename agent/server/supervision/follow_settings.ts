import type { CurrentSettings } from "../../settings/settings_source.ts";
import type { Watched } from "../../../shared/workers/watched.ts";
import { type WantedServer, wantedServer } from "./wanted_server.ts";

export interface FollowSettingsOptions {
  readonly current: Watched<CurrentSettings>;
  /** Set from the settings; its version is left as it is. */
  readonly wanted: Watched<WantedServer>;
}

/** Keeps what is wanted in step with the settings. */
export async function followSettings(
  { current, wanted }: FollowSettingsOptions,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const next = wantedServer(current.value.settings, wanted.value.version);
    if (JSON.stringify(next) !== JSON.stringify(wanted.value)) wanted.value = next;
    await current.changed(signal);
  }
}
