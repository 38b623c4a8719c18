import { AgentDeviceService } from "../../shared/gen/viam/app/agent/v1/agent_pb.ts";
import { AgentService, ReleaseService } from "../../shared/gen/machine/cloud/v1/releases_pb.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { RpcRouter } from "../../shared/rpc/server/router.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { Callers } from "../accounts/access/callers.ts";
import type { Presence } from "../fleet/presence/presence.ts";
import { AgentCommands } from "../releases/agents/agent_commands.ts";
import { agentService } from "../releases/agents/agent_service.ts";
import type { Nodes } from "../nodes/nodes.ts";
import { AgentStatuses } from "../releases/agents/agent_statuses.ts";
import { cloudAgentService } from "../releases/agents/cloud_agent_service.ts";
import { PartTargets } from "../releases/agents/part_targets.ts";
import { ReleaseOutcomes } from "../releases/agents/release_outcomes.ts";
import { reportedVersions } from "../releases/agents/reported_versions.ts";
import { VersionHistory } from "../releases/agents/version_history.ts";
import { DownloadSlots } from "../releases/catalogue/download_slots.ts";
import { openReleases } from "../releases/catalogue/open_releases.ts";
import {
  localReleaseAccess,
  type ReleaseAccess,
  releaseAccess,
} from "../releases/catalogue/release_access.ts";
import { releaseFiles } from "../releases/catalogue/release_files.ts";
import { releaseService } from "../releases/catalogue/release_service.ts";
import { sourceAccess } from "../releases/source/source_access.ts";
import type { BlobStore } from "../storage/blobs/blob_store.ts";
import { withCallFailures } from "../storage/database/call_failures.ts";
import type { CloudDatabase } from "../storage/database/cloud_database.ts";
import type { Random } from "../storage/keys/random.ts";

export interface ReleaseServicesOptions {
  readonly database: CloudDatabase;
  readonly dataDir: string;
  /** Largest file of a release, bytes. */
  readonly limitBytes: number;
  /** Holds the files. */
  readonly blobs: BlobStore;
  readonly callers: Callers;
  /** Whether the owner of the data folder makes every call, and not whom its token names. */
  readonly isLocal: boolean;
  readonly presence: Presence;
  readonly clock: Clock;
  readonly random: Random;
  readonly publicUrl: () => string;
  readonly log: Logger;
}

/** Releases of agent and server, and what agents are to run and report of them. */
export async function openReleaseServices(options: ReleaseServicesOptions) {
  const { database, callers, presence, clock, random, publicUrl, log } = options;
  const { queries } = database;
  const releases = await openReleases(options);
  const { catalogue, rollouts, selectors, blobs } = releases;
  const statuses = new AgentStatuses(queries, clock, log.child("agents"));
  const targets = new PartTargets(catalogue, selectors);
  const outcomes = new ReleaseOutcomes(catalogue, selectors, rollouts, log.child("releases"));
  const versions = new VersionHistory(queries, clock);
  const commands = new AgentCommands(queries, clock, random);
  const agents = { callers, presence, targets, statuses, outcomes, versions, publicUrl };
  const releaseCalls = (access: ReleaseAccess) =>
    withCallFailures(releaseService({
      ...releases,
      ...{ access, told: reportedVersions(statuses, presence), commands, clock, publicUrl },
    }));
  const access = options.isLocal ? localReleaseAccess(callers) : releaseAccess(callers, queries);
  return {
    /** Shares with other nodes what agents reported, until the result is disposed of. */
    share: (nodes: Nodes): AsyncDisposable =>
      statuses.share(nodes, (partId) => {
        versions.forget(partId);
        outcomes.forget(partId);
      }),
    store: releases.store,
    statuses,
    targets,
    versions,
    files: releaseFiles({ catalogue, blobs, slots: new DownloadSlots(), clock, publicUrl }),
    mount: (router: RpcRouter): RpcRouter =>
      router
        .service(AgentDeviceService, withCallFailures(agentService({ ...agents, queries })))
        .service(
          AgentService,
          withCallFailures(cloudAgentService({ ...agents, catalogue, commands })),
        )
        .service(ReleaseService, releaseCalls(access)),
    /** For this process alone, which brings releases of a source. */
    mountSource: (router: RpcRouter): RpcRouter =>
      router.service(ReleaseService, releaseCalls(sourceAccess(queries))),
  };
}
