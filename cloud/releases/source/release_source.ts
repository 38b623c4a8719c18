import type { Client } from "@connectrpc/connect";
import { lt } from "semver";
import {
  bringRelease,
  offeredRelease,
  type ReleaseSource,
} from "../../../shared/commands/releases/sync_releases.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { Channel, type ReleaseService } from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { readSetting, writeSetting } from "../../storage/database/settings.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";

/** Between two looks, up to 5 % more or less, so that clouds do not all ask at once. */
export const LOOK_EVERY_MS = 60 * 60_000;
const FIRST_AFTER_MS = 5_000;

export interface ReleaseSourceSettings extends ReleaseSource {
  /** Percent of the machines on `stable` that get a new release first; undefined: all of them. */
  readonly percent: number | undefined;
}

export interface ReleaseFollowerOptions {
  readonly settings: ReleaseSourceSettings;
  readonly client: Client<typeof ReleaseService>;
  readonly queries: Queries;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What was brought last, so that it is neither brought again when it was removed nor undercut. */
interface Brought {
  readonly from: string;
  readonly version: string;
}

/**
 * Brings each new stable release of a project's download folder into this cloud, until the signal
 * aborts. What fails is tried again an hour later; the log says it once.
 */
export async function followReleases(
  options: ReleaseFollowerOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log, settings: { from } } = options;
  let complained = "";
  const turn = async () => {
    const version = await bringNewest(options, signal);
    if (version !== undefined) {
      log.info("added a release of the source", { event: "release_added", from, version });
    }
    complained = "";
  };
  const onFailure = (error: unknown) => {
    const { message } = toError(error);
    if (message === complained) return;
    complained = message;
    log.warn("cannot bring releases of the source; retrying every hour", {
      ...{ event: "release_source_failed", from, error: message },
    });
  };
  const intervalMs = LOOK_EVERY_MS;
  const waits = { clock, intervalMs, firstMs: FIRST_AFTER_MS, random: Math.random, onFailure };
  await pollLoop(turn, waits, signal);
}

/** @returns the version, when it is new here */
async function bringNewest(
  { settings, client, queries, clock, log }: ReleaseFollowerOptions,
  signal: AbortSignal,
): Promise<string | undefined> {
  const offered = await offeredRelease(settings, clock.now(), signal);
  const { version } = offered.newest;
  const before = broughtFrom(settings.from, await readSetting(queries, "release_source"));
  if (before === version) return undefined;
  if (before !== undefined && lt(version, before)) {
    throw new Error(`${version} is older than ${before}, which was brought before`);
  }
  const { percent } = settings;
  const files = await bringRelease(client, offered, {
    channel: Channel.STABLE,
    rollout: percent === undefined ? undefined : { percent, tags: [] },
    signal,
  }, { quiet: true, json: false, terminal: { isError: false, draw: () => {} }, clock });
  const brought: Brought = { from: settings.from, version };
  await writeSetting(queries, "release_source", JSON.stringify(brought));
  if (files.length === 0) {
    log.warn("the source has neither machine-server nor machine-agent", { from: settings.from });
  }
  return files.some(({ outcome }) => outcome === "added") ? version : undefined;
}

function broughtFrom(from: string, setting: string | undefined): string | undefined {
  if (setting === undefined) return undefined;
  const brought = JSON.parse(setting) as Brought;
  return brought.from === from ? brought.version : undefined;
}
