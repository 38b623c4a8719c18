import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  Channel,
  type Release,
  type ReleaseKey as ReleaseKeyMessage,
  ReleaseKeySchema,
  ReleaseSchema,
  type Rollout,
  Rollout_State,
  type RolloutProgress,
  RolloutProgressSchema,
  RolloutSchema,
  type RolloutSettings,
  type Target,
  TargetSchema,
} from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import type {
  Program,
  ReleaseChannel,
  RolloutState,
} from "../../storage/database/release_schema.ts";
import { requireRollout, type RolloutLimits } from "./checks.ts";
import type { KnownRelease, KnownRollout } from "./known_release.ts";
import type { Progress } from "./progress.ts";
import type { ReleaseKey } from "./release_keys.ts";
import { releaseUrl } from "./release_urls.ts";
import type { Resolution } from "./resolve.ts";
import type { VersionSelector } from "./selectors.ts";

/** Stands for every version that is chosen by its address. */
export const CUSTOM_URL = "customURL";

/** A rollout stops at this share of machines that rolled back, unless it says otherwise. */
const STOP_PERCENT = 10;
const STOP_MINIMUM = 1;

const CHANNELS: Readonly<Record<ReleaseChannel, Channel>> = {
  stable: Channel.STABLE,
  dev: Channel.DEV,
};

const STATES: Readonly<Record<RolloutState, Rollout_State>> = {
  running: Rollout_State.RUNNING,
  paused: Rollout_State.PAUSED,
  stopped: Rollout_State.STOPPED,
};

/** Undefined for UNSPECIFIED. Throws INVALID_ARGUMENT for numbers that are not known here. */
export function channelOf(number: Channel): ReleaseChannel | undefined {
  if (number === Channel.UNSPECIFIED) return undefined;
  for (const channel of ["stable", "dev"] as const) {
    if (CHANNELS[channel] === number) return channel;
  }
  throw new ConnectError(`channel: ${number} is no channel`, Code.InvalidArgument);
}

/** Throws INVALID_ARGUMENT with the field's name. */
export function limitsOf(settings: RolloutSettings): RolloutLimits {
  return requireRollout({
    percent: settings.percent,
    tags: settings.tags,
    stopPercent: settings.stopPercent ?? STOP_PERCENT,
    stopMinimum: settings.stopMinimum ?? STOP_MINIMUM,
  });
}

/** @param installedOn on how many parts it is installed; undefined: the caller may not know */
export function toRelease(
  release: KnownRelease,
  publicUrl: string,
  installedOn: number | undefined,
): Release {
  const { program, version, rollout } = release;
  const message = create(ReleaseSchema, {
    binary: program,
    version,
    channel: CHANNELS[release.channel],
    notes: release.notes,
    addedAt: timestampFromMs(release.addedAtMs),
    goesBack: release.goesBack,
    files: release.files.map((file) => ({
      platform: file.platform,
      url: releaseUrl(publicUrl, program, { version, platform: file.platform }),
      size: BigInt(file.size),
      sha256: Uint8Array.fromHex(file.sha256),
      signature: Uint8Array.fromBase64(file.signature),
      keyId: file.keyId,
      addedAt: timestampFromMs(file.addedAtMs),
    })),
    installedOn: installedOn ?? 0,
  });
  if (release.withdrawnAtMs !== undefined) {
    message.withdrawnAt = timestampFromMs(release.withdrawnAtMs);
  }
  if (rollout) message.rollout = toRollout(release, rollout);
  return message;
}

export function toRollout(
  { program, version }: KnownRelease,
  rollout: KnownRollout,
  progress?: Progress,
): Rollout {
  const message = create(RolloutSchema, {
    binary: program,
    version,
    percent: rollout.percent,
    tags: [...rollout.tags],
    state: STATES[rollout.state],
    reason: rollout.reason,
    stopPercent: rollout.stopPercent,
    stopMinimum: rollout.stopMinimum,
    changedAt: timestampFromMs(rollout.changedAtMs),
  });
  if (progress) message.progress = toProgress(progress);
  return message;
}

export function toReleaseKey(
  { id, publicKey, signedBy, signature }: ReleaseKey,
): ReleaseKeyMessage {
  return create(ReleaseKeySchema, { id, publicKey, signedBy, signature });
}

/** @param platform `os/architecture` of the part */
export function toTarget(
  program: Program,
  selector: VersionSelector,
  resolution: Resolution,
  { platform, publicUrl }: { readonly platform: string; readonly publicUrl: string },
): Target {
  const { asked } = selector;
  switch (resolution.kind) {
    case "nothing": {
      const { problem, heldBack } = resolution;
      return create(TargetSchema, { asked, platform, problem, heldBack });
    }
    case "address":
      return create(TargetSchema, {
        asked,
        platform,
        version: CUSTOM_URL,
        url: resolution.url,
        sha256: Uint8Array.fromHex(resolution.sha256),
        pinned: true,
      });
    case "release": {
      const { release: { version, notes }, file, pinned, heldBack } = resolution;
      return create(TargetSchema, {
        asked,
        platform,
        version,
        url: releaseUrl(publicUrl, program, { version, platform: file.platform }),
        sha256: Uint8Array.fromHex(file.sha256),
        size: BigInt(file.size),
        signature: Uint8Array.fromBase64(file.signature),
        keyId: file.keyId,
        notes,
        pinned,
        heldBack,
      });
    }
  }
}

function toProgress(progress: Progress): RolloutProgress {
  return create(RolloutProgressSchema, {
    pending: progress.pending,
    updating: progress.updating,
    done: progress.done,
    rolledBack: progress.rolledBack,
    problems: progress.problems.map(({ partId, machineName, reason, atMs }) => ({
      partId,
      machineName,
      reason,
      at: timestampFromMs(atMs),
    })),
  });
}
