import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import type { Client } from "@connectrpc/connect";
import {
  type FlagValues,
  type ParsedCommand,
  UsageError,
} from "../../../shared/base/flags/flags.ts";
import {
  Channel,
  ProgramCommand_Action,
  type Release,
  type ReleaseService,
  type RolloutSettingsSchema,
} from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { withAdvice } from "../../local/connection/cloud_connection.ts";
import { readPlace } from "../../local/connection/place_flags.ts";
import { withPlainFailures } from "../../local/connection/plain_failures.ts";
import { sendRelease } from "./add_release.ts";
import { connectToReleases, type ReleaseDeps } from "./release_connection.ts";
import type {
  addFlags,
  promoteFlags,
  releaseCommands,
  rolloutCommandFlags,
} from "./release_flags.ts";
import { channelName, keyTable, releaseTable, rolloutTable } from "./release_texts.ts";

/** One of the commands about releases and agents, as the command line asks for it. */
export type ReleaseCommand = Extract<
  ParsedCommand<typeof releaseCommands>,
  { readonly command: keyof typeof releaseCommands }
>;

type ReleaseClient = Client<typeof ReleaseService>;
type RolloutSettings = MessageInitShape<typeof RolloutSettingsSchema>;

const CHANNELS = { stable: Channel.STABLE, dev: Channel.DEV } as const;
const ACTIONS: Readonly<Record<string, ProgramCommand_Action>> = {
  "force": ProgramCommand_Action.FORCE,
  "forget-bad": ProgramCommand_Action.FORGET_BAD,
  "restart": ProgramCommand_Action.RESTART,
};
const DEFAULT_LIMIT_MIB = 2048;

/** Does what the command line asks for and gives back what to print. */
export function runReleaseCommand(parsed: ReleaseCommand, deps: ReleaseDeps): Promise<string> {
  return withPlainFailures(async () => {
    const mib = "package-limit" in parsed.values
      ? parsed.values["package-limit"]
      : DEFAULT_LIMIT_MIB;
    await using connection = await connectToReleases(
      readPlace(parsed.values),
      mib * 1024 * 1024,
      deps,
    );
    const { client, url } = connection;
    try {
      return await run(parsed, client);
    } catch (error) {
      throw url === undefined ? error : withAdvice(error, url);
    }
  });
}

async function run(parsed: ReleaseCommand, client: ReleaseClient): Promise<string> {
  switch (parsed.command) {
    case "release add":
      return await add(client, parsed.values, parsed.arguments[0] ?? "");
    case "release list": {
      const { binary = "" } = parsed.values;
      return releaseTable((await client.listReleases({ binary })).releases);
    }
    case "release remove": {
      const { binary, version, platform = "" } = parsed.values;
      await client.removeRelease({ binary, version, platform });
      return `removed ${binary} ${version}${platform === "" ? "" : ` for ${platform}`}\n`;
    }
    case "release promote":
      return await promote(client, parsed.values);
    case "release withdraw": {
      const { binary, version, "go-back": goBack } = parsed.values;
      await client.withdrawRelease({ binary, version, goBack });
      const rest = goBack ? "go back to the release before" : "keep it until there is a newer one";
      return `withdrew ${binary} ${version}; machines that run it ${rest}\n`;
    }
    case "release rollout":
      return await rollout(client, parsed.values);
    case "release pause": {
      const { binary, version } = parsed.values;
      const answer = await client.pauseRollout({ binary, version });
      return rolloutTable(answer.rollout ? [answer.rollout] : []);
    }
    case "release resume": {
      const { binary, version } = parsed.values;
      const answer = await client.resumeRollout({ binary, version });
      return rolloutTable(answer.rollout ? [answer.rollout] : []);
    }
    case "release key": {
      const { keys } = parsed.values.rotate
        ? await client.rotateReleaseKey({})
        : await client.getReleaseKey({});
      return keyTable(keys);
    }
    case "agent tell": {
      const { part: partId, program, version = "" } = parsed.values;
      const [name = ""] = parsed.arguments;
      const action = ACTIONS[name];
      if (action === undefined) {
        const allowed = Object.keys(ACTIONS).join(", ");
        throw new UsageError(`ACTION: ${JSON.stringify(name)} is none; allowed are ${allowed}`);
      }
      const validFor = durationFromMs(parsed.values["valid-minutes"] * 60_000);
      await client.commandAgent({ partId, program, action, version, validFor });
      return `the agent hears of it with its next report, within ${
        parsed.values["valid-minutes"]
      } minutes or not at all\n`;
    }
  }
}

async function add(
  client: ReleaseClient,
  flags: FlagValues<typeof addFlags>,
  file: string,
): Promise<string> {
  const { binary, version, platform, channel, notes = "" } = flags;
  const settings = settingsOf(flags);
  const release = await sendRelease(client, {
    binary,
    version,
    platform,
    notes,
    ...(channel === undefined ? {} : { channel: CHANNELS[channel] }),
    ...(settings === undefined ? {} : { rollout: settings }),
  }, file);
  return `${JSON.stringify(added(release, platform))}\n`;
}

/** What is told of a file that was added. */
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
): Promise<string> {
  const { binary, version, channel } = flags;
  const settings = settingsOf(flags);
  await client.promoteRelease({
    binary,
    version,
    channel: CHANNELS[channel],
    ...(settings === undefined ? {} : { rollout: settings }),
  });
  return `${binary} ${version} is on channel ${channel}\n`;
}

async function rollout(
  client: ReleaseClient,
  flags: FlagValues<typeof rolloutCommandFlags>,
): Promise<string> {
  const { binary = "", version, all } = flags;
  const settings = settingsOf(flags);
  if (settings === undefined && !all) {
    const { rollouts } = await client.listRollouts({ binary });
    return rolloutTable(
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
  if (all) return `${binary} ${version} goes to every machine on its channel\n`;
  const { rollouts } = await client.listRollouts({ binary });
  return rolloutTable(rollouts.filter((known) => known.version === version));
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
