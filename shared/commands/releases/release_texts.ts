import { timestampDate } from "@bufbuild/protobuf/wkt";
import {
  Channel,
  type Release,
  type ReleaseKey,
  type Rollout,
  Rollout_State,
} from "../../gen/machine/cloud/v1/releases_pb.ts";
import { textTable } from "../output/text_table.ts";

const CHANNELS: Readonly<Record<Channel, string>> = {
  [Channel.UNSPECIFIED]: "-",
  [Channel.STABLE]: "stable",
  [Channel.DEV]: "dev",
};

/** A line for each release, or the command to add one by when there is none. */
export function releaseTable(releases: readonly Release[], toAdd: string): string {
  if (releases.length === 0) return `no releases; add one with ${toAdd} FILE\n`;
  const rows = releases.map((release) => [
    release.binary,
    release.version,
    CHANNELS[release.channel],
    release.files.map(({ platform }) => platform).join(", "),
    String(release.installedOn),
    goesTo(release),
    release.addedAt ? timestampDate(release.addedAt).toJSON().slice(0, 19) : "-",
    firstNote(release.notes),
  ]);
  const heading = ["BINARY", "VERSION", "CHANNEL", "PLATFORMS", "ON", "GOES TO", "ADDED", "NOTES"];
  return textTable([heading, ...rows]);
}

/** The first line of notes that says something: those of a download folder begin with a heading. */
function firstNote(notes: string): string {
  const lines = notes.split("\n").map((line) => line.trim());
  const first = lines.find((line) => line !== "" && !line.startsWith("#")) ?? "";
  return first.replace(/^[-*] /, "");
}

/** A line for each rollout, and below it the machines that rolled back. */
export function rolloutTable(rollouts: readonly Rollout[]): string {
  if (rollouts.length === 0) {
    return "no rollouts: every machine gets what is newest on its channel\n";
  }
  const rows = rollouts.map((rollout) => {
    const { pending = 0, updating = 0, done = 0, rolledBack = 0 } = rollout.progress ?? {};
    return [
      rollout.binary,
      rollout.version,
      whom(rollout),
      stateOf(rollout),
      ...[pending, updating, done, rolledBack].map(String),
    ];
  });
  const heading = ["BINARY", "VERSION", "GOES TO", "STATE"];
  const counts = ["PENDING", "UPDATING", "DONE", "ROLLED BACK"];
  const lines = [textTable([[...heading, ...counts], ...rows])];
  for (const { binary, version, reason, progress } of rollouts) {
    if (reason !== "") lines.push(`${binary} ${version} was stopped: ${reason}\n`);
    for (const problem of progress?.problems ?? []) {
      const name = problem.machineName || problem.partId;
      lines.push(`${binary} ${version} rolled back on ${name}: ${problem.reason}\n`);
    }
  }
  return lines.join("");
}

/** A line for each key, oldest first. */
export function keyTable(keys: readonly ReleaseKey[]): string {
  if (keys.length === 0) {
    return "no release key yet; the first release add makes it\n";
  }
  return textTable([
    ["ID", "PUBLIC KEY (ED25519, BASE64)", "SIGNED BY", ""],
    ...keys.map((key, at) => [
      key.id,
      key.publicKey.toBase64(),
      key.signedBy || "-",
      at === keys.length - 1 ? "signs" : "",
    ]),
  ]);
}

function goesTo({ withdrawnAt, goesBack, rollout }: Release): string {
  if (withdrawnAt) return goesBack ? "nobody, machines go back" : "nobody, withdrawn";
  if (!rollout) return "all";
  return rollout.state === Rollout_State.RUNNING ? whom(rollout) : stateOf(rollout);
}

function whom({ percent, tags }: Rollout): string {
  const share = percent > 0 || tags.length === 0 ? [`${percent} %`] : [];
  return [...share, ...tags.map((tag) => `tag ${tag}`)].join(", ");
}

function stateOf({ state }: Rollout): string {
  switch (state) {
    case Rollout_State.PAUSED:
      return "paused";
    case Rollout_State.STOPPED:
      return "stopped";
    default:
      return "running";
  }
}

/** The name of a channel. */
export function channelName(channel: Channel): string {
  return CHANNELS[channel];
}
