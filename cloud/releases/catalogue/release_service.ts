import { durationMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { compare } from "semver";
import {
  type AddReleaseInfo,
  type AddReleaseRequest,
  type ProgramCommand,
  ProgramCommand_Action,
  type Release,
  type ReleaseService,
  type Rollout,
} from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Actor } from "../../accounts/access/caller.ts";
import type { PartRow } from "../../accounts/access/scope.ts";
import type { AgentAction, Program } from "../../storage/database/release_schema.ts";
import { KeyFileError } from "../../storage/keys/key_file.ts";
import { readUpload, type UploadPiece, whileAllowed } from "../../storage/blobs/upload_stream.ts";
import { requireNotes, requirePlatform, requireProgram, requireVersion } from "./checks.ts";
import type { KnownRelease } from "./known_release.ts";
import { channelOf, limitsOf, toRelease, toReleaseKey, toRollout } from "./release_messages.ts";
import type { SelectorsOfParts } from "./part_selectors.ts";
import { progressOf, type ToldPart } from "./progress.ts";
import type { ReleaseAccess } from "./release_access.ts";
import type { ReleaseCatalogue } from "./release_catalogue.ts";
import type { ReleaseKeys } from "./release_keys.ts";
import type { NewRelease, ReleaseStore } from "./release_store.ts";
import { noRelease } from "./release_store.ts";
import type { RolloutStore } from "./rollout_store.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** What the parts' agents reported last. */
export interface ToldVersions {
  of(partId: string, program: Program): ToldPart;
  /** Ids of the parts whose agents ever reported. */
  partIds(): Iterable<string>;
}

/** Where commands for agents are left. */
export interface CommandIntake {
  add(
    part: PartRow,
    wanted: { program: Program; action: AgentAction; version: string; validForMs: number },
    actor: Actor,
  ): Promise<{ command: ProgramCommand; expiresAtMs: number }>;
}

export interface ReleaseServiceOptions {
  readonly access: ReleaseAccess;
  readonly catalogue: ReleaseCatalogue;
  readonly keys: ReleaseKeys;
  readonly store: ReleaseStore;
  readonly rollouts: RolloutStore;
  readonly selectors: SelectorsOfParts;
  readonly told: ToldVersions;
  readonly commands: CommandIntake;
  readonly clock: Clock;
  readonly publicUrl: () => string;
}

const COMMAND_VALID_MS = 60 * 60_000;
const LONGEST_COMMAND_MS = 7 * 24 * 60 * 60_000;
/** Machines named when something cannot be done because of them. */
const TOLD_MACHINES = 3;

/** `machine.cloud.v1.ReleaseService`: releases and their way to the machines. */
export function releaseService(
  options: ReleaseServiceOptions,
): ServiceImpl<typeof ReleaseService> {
  const { access, catalogue, store, rollouts, clock } = options;
  return {
    async addRelease(requests, context) {
      const actor = await access.operator(context);
      const upload = await readUpload(requests, pieceOf, {
        clock,
        signal: context.signal,
        form: "any",
      });
      const wanted = newRelease(upload.info);
      await store.requireFree(wanted);
      const contents = whileAllowed(upload.contents, () => access.operator(context));
      const release = await store.add(wanted, contents, actor).catch(plainKeyFailure);
      return { release: shown(options, release) };
    },

    async listReleases({ binary }, context) {
      const isOperator = await access.isOperator(context);
      const listed = await listedReleases(options, binary);
      return { releases: listed.map((release) => shown(options, release, isOperator)) };
    },

    async removeRelease({ binary, version, platform }, context) {
      await access.operator(context);
      const wanted = platform === "" ? undefined : requirePlatform(platform);
      const program = requireProgram("binary", binary);
      await store.remove(
        program,
        version,
        wanted,
        (release) => requireUnused(options, release, wanted),
      );
      return {};
    },

    async promoteRelease({ binary, version, channel, rollout }, context) {
      await access.operator(context);
      const limits = rollout && limitsOf(rollout);
      const program = requireProgram("binary", binary);
      const wanted = channelOf(channel) ?? "stable";
      const release = await store.promote(program, version, wanted, limits);
      return { release: shown(options, release) };
    },

    async withdrawRelease({ binary, version, goBack }, context) {
      await access.operator(context);
      const release = await store.withdraw(requireProgram("binary", binary), version, goBack);
      return { release: shown(options, release) };
    },

    async setRollout({ binary, version, settings }, context) {
      await access.operator(context);
      const release = await known(options, binary, version);
      await rollouts.set(release, settings && limitsOf(settings));
      return { release: shown(options, await known(options, binary, version)) };
    },

    async pauseRollout({ binary, version }, context) {
      await access.operator(context);
      await rollouts.pause(await known(options, binary, version));
      return { rollout: await shownRollout(options, binary, version) };
    },

    async resumeRollout({ binary, version }, context) {
      await access.operator(context);
      await rollouts.resume(await known(options, binary, version));
      return { rollout: await shownRollout(options, binary, version) };
    },

    async listRollouts({ binary }, context) {
      await access.operator(context);
      const found: Rollout[] = [];
      for (const release of await listedReleases(options, binary)) {
        if (release.rollout) found.push(await withProgress(options, release));
      }
      return { rollouts: found };
    },

    async getReleaseKey(_, context) {
      await access.isOperator(context);
      return { keys: (await catalogue.read()).keys.map(toReleaseKey) };
    },

    async rotateReleaseKey(_, context) {
      await access.operator(context);
      await options.keys.rotate().catch(plainKeyFailure);
      catalogue.changed();
      return { keys: (await catalogue.read()).keys.map(toReleaseKey) };
    },

    async commandAgent(request, context) {
      const { part, actor } = await access.part(context, request.partId);
      const validForMs = request.validFor ? durationMs(request.validFor) : COMMAND_VALID_MS;
      if (validForMs <= 0 || validForMs > LONGEST_COMMAND_MS) {
        throw new ConnectError(
          "valid_for: give more than nothing and at most 7 days",
          Code.InvalidArgument,
        );
      }
      const { command, expiresAtMs } = await options.commands.add(part, {
        program: requireProgram("program", request.program),
        action: actionOf(request.action),
        version: request.version,
        validForMs,
      }, actor);
      return { command, expiresAt: timestampFromMs(expiresAtMs) };
    },
  };
}

const ACTIONS: Readonly<Record<AgentAction, ProgramCommand_Action>> = {
  "force": ProgramCommand_Action.FORCE,
  "forget bad": ProgramCommand_Action.FORGET_BAD,
  "restart": ProgramCommand_Action.RESTART,
};

function actionOf(number: ProgramCommand_Action): AgentAction {
  for (const action of ["force", "forget bad", "restart"] as const) {
    if (ACTIONS[action] === number) return action;
  }
  throw new ConnectError("action: name the one that is wanted", Code.InvalidArgument);
}

function pieceOf({ piece }: AddReleaseRequest): UploadPiece<AddReleaseInfo> | undefined {
  switch (piece.case) {
    case "info":
      return { info: piece.value };
    case "contents":
      return { bytes: piece.value };
    default:
      return undefined;
  }
}

function newRelease(info: AddReleaseInfo): NewRelease {
  if (info.sha256.length !== 0 && info.sha256.length !== 32) {
    throw new ConnectError("info.sha256: it must have 32 bytes", Code.InvalidArgument);
  }
  return {
    program: requireProgram("binary", info.binary),
    version: requireVersion(info.version),
    platform: requirePlatform(info.platform),
    channel: channelOf(info.channel),
    notes: requireNotes(info.notes),
    rollout: info.rollout && limitsOf(info.rollout),
    sha256: info.sha256.toHex(),
  };
}

async function known(
  { catalogue }: ReleaseServiceOptions,
  binary: string,
  version: string,
): Promise<KnownRelease> {
  const program = requireProgram("binary", binary);
  const release = await catalogue.find(program, version);
  if (release) return release;
  throw noRelease(program, version);
}

/** Of one program or both, newest first. */
async function listedReleases(
  { catalogue }: ReleaseServiceOptions,
  binary: string,
): Promise<KnownRelease[]> {
  const program = binary === "" ? undefined : requireProgram("binary", binary);
  const { releases } = await catalogue.read();
  return releases.filter((release) => program === undefined || release.program === program)
    .toSorted((a, b) =>
      a.program === b.program ? compare(b.version, a.version) : a.program < b.program ? 1 : -1
    );
}

function shown(
  { publicUrl, told }: ReleaseServiceOptions,
  release: KnownRelease,
  isOperator = true,
): Release {
  if (!isOperator) return toRelease({ ...release, rollout: undefined }, publicUrl(), undefined);
  let installedOn = 0;
  for (const id of told.partIds()) {
    if (told.of(id, release.program).installed === release.version) installedOn++;
  }
  return toRelease(release, publicUrl(), installedOn);
}

async function shownRollout(
  options: ReleaseServiceOptions,
  binary: string,
  version: string,
): Promise<Rollout> {
  return await withProgress(options, await known(options, binary, version));
}

async function withProgress(
  { rollouts, selectors, told }: ReleaseServiceOptions,
  release: KnownRelease,
): Promise<Rollout> {
  const { rollout } = release;
  if (!rollout) throw noRelease(release.program, release.version);
  const progress = progressOf(
    release,
    await selectors.all(),
    await rollouts.outcomes(release.id),
    (partId) => told.of(partId, release.program),
  );
  return toRollout(release, rollout, progress);
}

/** Machines that run a release, or are pinned to it, would have nothing to go by. */
async function requireUnused(
  { selectors, told }: ReleaseServiceOptions,
  { program, version }: KnownRelease,
  platform: string | undefined,
): Promise<void> {
  const users = (await selectors.all()).filter(({ id, selectors: { byProgram } }) => {
    const part = told.of(id, program);
    if (platform !== undefined && part.platform !== "" && part.platform !== platform) return false;
    const selector = byProgram[program];
    return part.installed === version ||
      (selector.kind === "exact" && selector.version === version);
  });
  if (users.length === 0) return;
  const names = users.slice(0, TOLD_MACHINES).map(({ machineName }) => machineName).join(", ");
  const more = users.length - TOLD_MACHINES;
  throw refusal(
    "RELEASE_IN_USE",
    { version, users: `${names}${more > 0 ? ", …" : ""}` },
    `${names}${more > 0 ? ` and ${more} more` : ""} run release ${version} of ${program} or ` +
      "are pinned to it; machine-cloud release withdraw takes it from everybody else, and with " +
      "--go-back from those that run it",
    Code.FailedPrecondition,
  );
}

function plainKeyFailure(error: unknown): never {
  if (!(error instanceof KeyFileError)) throw error;
  throw refusal("RELEASE_KEY_UNUSABLE", {}, error.message, Code.FailedPrecondition, error);
}
