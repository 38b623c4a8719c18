import { LowestVersions } from "../updates/keys/lowest_versions.ts";
import { ReleaseKeys } from "../updates/keys/release_keys.ts";
import { ReleasePolicy } from "../updates/keys/release_policy.ts";
import type { AgentParts } from "./deps.ts";

/** Whose word counts for what is installed. */
export interface ComposedReleases {
  readonly keys: ReleaseKeys;
  readonly policy: ReleasePolicy;
}

export function composeReleases(
  { deps, state, options, defaults }: AgentParts,
): ComposedReleases {
  const { clock } = deps;
  const log = deps.log.child("releases");
  const db = state.database;
  const keys = new ReleaseKeys({ db, fromDefaults: defaults.releaseKeys, clock, log });
  const lowest = new LowestVersions({ db, dir: options.dir, clock, log });
  return { keys, policy: new ReleasePolicy({ keys, lowest, platform: deps.host.platform }) };
}
