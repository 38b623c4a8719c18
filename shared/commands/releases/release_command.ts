import { type MessageInitShape, toJson } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { Client } from "@connectrpc/connect";
import { type FlagValues, UsageError } from "../../base/flags/flags.ts";
import {
  Channel,
  ProgramCommand_Action,
  type Release,
  ReleaseKeySchema,
  ReleaseSchema,
  ReleaseService,
  type Rollout,
  RolloutSchema,
  type RolloutSettingsSchema,
} from "../../gen/machine/cloud/v1/releases_pb.ts";
import { findPart } from "../choice/part.ts";
import {
  clientOf,
  type CommandContext,
  type CommandOf,
  done,
  type Output,
} from "../run/command.ts";
import { textTable } from "../output/text_table.ts";
import { sendRelease } from "./add_release.ts";
import { bringRelease, offeredRelease } from "./sync_releases.ts";
import type {
  addFlags,
  promoteFlags,
  releaseCommands,
  rolloutCommandFlags,
  syncFlags,
} from "./release_flags.ts";
import { channelName, keyTable, releaseTable, rolloutTable } from "./release_texts.ts";

/** One of the commands about releases and agents, as the command line requests it. */
export type ReleaseCommand = CommandOf<typeof releaseCommands>;

type ReleaseClient = Client<typeof ReleaseService>;
type RolloutSettings = MessageInitShape<typeof RolloutSettingsSchema>;

const CHANNELS = { stable: Channel.STABLE, dev: Channel.DEV } as const;
const ACTIONS: Readonly<Record<string, ProgramCommand_Action>> = {
  "force": ProgramCommand_Action.FORCE,
  "forget-bad": ProgramCommand_Action.FORGET_BAD,
  "restart": ProgramCommand_Action.RESTART,
};

/** Does what the command line requests. */
export async function runReleaseCommand(
  parsed: ReleaseCommand,
  context: CommandContext,
): Promise<Output> {
  const client = await clientOf(context, ReleaseService);
  switch (parsed.command) {
    case "release add":
      return await add(client, parsed.values, parsed.arguments[0] ?? "", context);
    case "release list": {
      const { binary = "" } = parsed.values;
      const { releases } = await client.listReleases({ binary });
      const json = releases.map((one) => toJson(ReleaseSchema, one));
      return { json, text: releaseTable(releases, context.commandLine("release add")) };
    }
    case "release remove": {
      const { binary, version, platform = "" } = parsed.values;
      await client.removeRelease({ binary, version, platform });
      const what = `${binary} ${version}${platform === "" ? "" : ` for ${platform}`}`;
      return done({ binary, version, platform }, `removed ${what}`);
    }
    case "release promote":
      return await promote(client, parsed.values);
    case "release withdraw": {
      const { binary, version, "go-back": goBack } = parsed.values;
      await client.withdrawRelease({ binary, version, goBack });
      const rest = goBack ? "go back to the release before" : "keep it until there is a newer one";
      return done(
        { binary, version },
        `withdrew ${binary} ${version}; machines that run it ${rest}`,
      );
    }
    case "release rollout":
      return await rollout(client, parsed.values);
    case "release pause": {
      const { binary, version } = parsed.values;
      const answer = await client.pauseRollout({ binary, version });
      return rolloutOutput(answer.rollout ? [answer.rollout] : []);
    }
    case "release resume": {
      const { binary, version } = parsed.values;
      const answer = await client.resumeRollout({ binary, version });
      return rolloutOutput(answer.rollout ? [answer.rollout] : []);
    }
    case "release sync":
      return await sync(client, parsed.values, parsed.arguments[0] ?? "", context);
    case "release key": {
      const { keys } = parsed.values.rotate
        ? await client.rotateReleaseKey({})
        : await client.getReleaseKey({});
      return { json: keys.map((key) => toJson(ReleaseKeySchema, key)), text: keyTable(keys) };
    }
    case "agent command": {
      const { part, program, version = "" } = parsed.values;
      const [name = ""] = parsed.arguments;
      const action = ACTIONS[name];
      if (action === undefined) {
        const allowed = Object.keys(ACTIONS).join(", ");
        throw new UsageError(`ACTION: ${JSON.stringify(name)} is none; allowed are ${allowed}`);
      }
      const { id: partId } = await findPart(context, part);
      const validFor = durationFromMs(parsed.values["valid-minutes"] * 60_000);
      await client.commandAgent({ partId, program, action, version, validFor });
      return done(
        { part_id: partId, program, action: name },
        `the agent receives it with its next report, within ${
          parsed.values["valid-minutes"]
        } minutes or not at all`,
      );
    }
  }
}

async function add(
  client: ReleaseClient,
  flags: FlagValues<typeof addFlags>,
  file: string,
  context: CommandContext,
): Promise<Output> {
  const { binary, version, platform, channel, notes = "" } = flags;
  const settings = settingsOf(flags);
  const release = await sendRelease(
    client,
    {
      binary,
      version,
      platform,
      notes,
      ...(channel === undefined ? {} : { channel: CHANNELS[channel] }),
      ...(settings === undefined ? {} : { rollout: settings }),
    },
    file,
    context,
  );
  const json = added(release, platform);
  return { json, text: `${JSON.stringify(json)}\n` };
}

async function sync(
  client: ReleaseClient,
  flags: FlagValues<typeof syncFlags>,
  from: string,
  context: CommandContext,
): Promise<Output> {
  const { key, follow, channel = follow } = flags;
  const offered = await offeredRelease({ from, key, follows: follow }, context.clock.now());
  const options = { channel: CHANNELS[channel], rollout: settingsOf(flags) };
  const files = await bringRelease(client, offered, options, context);
  const added = files.filter(({ outcome }) => outcome === "added");
  const [{ version = "" } = {}] = files;
  const text = files.length === 0
    ? `${from} has neither machine-server nor machine-agent\n`
    : added.length === 0
    ? `${version} is here already\n`
    : textTable(added.map(({ binary, platform }) => ["added", binary, version, platform]));
  return { json: files, text, ids: added.map(({ binary }) => `${binary} ${version}`) };
}

/** What is reported of a file that was added. */
function added(release: Release | undefined, platform: string) {
  const file = release?.files.find((known) => known.platform === platform);
  return {
    binary: release?.binary,
    version: release?.version,
    platform,
    channel: release && channelName(release.channel),
    size: Number(file?.size),
    sha256: file?.sha256.toHex(),
    key_id: file?.keyId,
    url: file?.url,
  };
}

async function promote(
  client: ReleaseClient,
  flags: FlagValues<typeof promoteFlags>,
): Promise<Output> {
  const { binary, version, channel } = flags;
  const settings = settingsOf(flags);
  await client.promoteRelease({
    binary,
    version,
    channel: CHANNELS[channel],
    ...(settings === undefined ? {} : { rollout: settings }),
  });
  return done({ binary, version, channel }, `${binary} ${version} is on channel ${channel}`);
}

async function rollout(
  client: ReleaseClient,
  flags: FlagValues<typeof rolloutCommandFlags>,
): Promise<Output> {
  const { binary = "", version, all } = flags;
  const settings = settingsOf(flags);
  if (settings === undefined && !all) {
    const { rollouts } = await client.listRollouts({ binary });
    return rolloutOutput(
      rollouts.filter((known) => version === undefined || known.version === version),
    );
  }
  if (binary === "" || version === undefined) {
    throw new UsageError("give --binary and --version of the release that is rolled out");
  }
  if (settings !== undefined && all) {
    throw new UsageError("--all gives it to every machine; leave the other options out");
  }
  await client.setRollout({ binary, version, ...(settings === undefined ? {} : { settings }) });
  if (all) {
    return done({ binary, version }, `${binary} ${version} goes to every machine on its channel`);
  }
  const { rollouts } = await client.listRollouts({ binary });
  return rolloutOutput(rollouts.filter((known) => known.version === version));
}

function rolloutOutput(rollouts: readonly Rollout[]): Output {
  return {
    json: rollouts.map((one) => toJson(RolloutSchema, one)),
    text: rolloutTable(rollouts),
  };
}

/** Undefined when no option is about who gets the release. */
function settingsOf(flags: {
  readonly percent: number | undefined;
  readonly tag: string | undefined;
  readonly "stop-percent": number | undefined;
  readonly "stop-minimum": number | undefined;
}): RolloutSettings | undefined {
  const { percent, tag, "stop-percent": stopPercent, "stop-minimum": stopMinimum } = flags;
  if (percent === undefined && tag === undefined) {
    if (stopPercent === undefined && stopMinimum === undefined) return undefined;
    throw new UsageError("--stop-percent and --stop-minimum need --percent or --tag");
  }
  return {
    percent: percent ?? 0,
    tags: (tag ?? "").split(",").map((each) => each.trim()).filter((each) => each !== ""),
    ...(stopPercent === undefined ? {} : { stopPercent }),
    ...(stopMinimum === undefined ? {} : { stopMinimum }),
  };
}
