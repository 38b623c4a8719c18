import { createClient } from "@connectrpc/connect";
import { UsageError } from "../../shared/base/flags/flags.ts";
import { toError } from "../../shared/base/errors/to_error.ts";
import { ReleaseService } from "../../shared/gen/machine/cloud/v1/releases_pb.ts";
import type { Logger } from "../../shared/log/logger.ts";
import { createInProcessTransport } from "../../shared/rpc/server/in_process.ts";
import type { RpcRouter } from "../../shared/rpc/server/router.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { ReleaseSourceSettings } from "../releases/source/release_source.ts";
import type { Queries } from "../storage/database/cloud_database.ts";
import type { ServeFlags } from "./serve_flags.ts";

/** What the command line says of a project's releases; undefined: the cloud follows none. */
export async function releaseSourceOf(
  flags: ServeFlags,
): Promise<ReleaseSourceSettings | undefined> {
  const from = flags["release-source"];
  const key = flags["release-source-key"];
  const percent = flags["release-source-percent"];
  if (from === undefined) {
    if (key === undefined && percent === undefined) return undefined;
    throw new UsageError("--release-source-key and -percent need --release-source URL");
  }
  if (key === undefined) {
    throw new UsageError(
      "--release-source needs --release-source-key: the public key whose signature counts",
    );
  }
  const { folderAddress, readKey } = await import(
    "../../shared/commands/releases/sync_releases.ts"
  );
  try {
    folderAddress(from);
  } catch (error) {
    throw new UsageError(`--release-source: ${toError(error).message}`);
  }
  try {
    await readKey(key);
  } catch (error) {
    throw new UsageError(`--release-source-key: ${toError(error).message}`);
  }
  return { from, key, follows: "stable", percent };
}

/** Follows a source until the signal aborts. What it takes is loaded only then. */
export async function runReleaseSource(
  settings: ReleaseSourceSettings | undefined,
  { router, queries, clock, log }: {
    /** Has `ReleaseService` for nobody but this process. */
    readonly router: RpcRouter;
    readonly queries: Queries;
    readonly clock: Clock;
    readonly log: Logger;
  },
  signal: AbortSignal,
): Promise<void> {
  if (settings === undefined) return;
  const { followReleases } = await import("../releases/source/release_source.ts");
  const client = createClient(ReleaseService, createInProcessTransport(router));
  await followReleases({ settings, client, queries, clock, log }, signal);
}
