import { Code } from "@connectrpc/connect";
import type { ReleaseChannel } from "../../storage/database/release_schema.ts";
import type { KnownRelease } from "./known_release.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

/** What is added to a release that is there. */
export interface Addition {
  readonly platform: string;
  readonly channel: ReleaseChannel | undefined;
  readonly rollout: object | undefined;
}

/**
 * Whether a file is the one that the release has, or one for another platform. Throws
 * ALREADY_EXISTS when it is neither, or when the release is another than it is said to be.
 *
 * @param sha256 of the file; undefined: not known yet
 */
export function requireFits(
  found: KnownRelease,
  { platform, channel, rollout }: Addition,
  sha256: string | undefined,
): "the same" | "more" {
  const { program, version } = found;
  const name = `release ${version} of ${program}`;
  if (channel !== undefined && channel !== found.channel) {
    throw refusal(
      "RELEASE_ON_CHANNEL",
      { version, channel: found.channel },
      `channel: ${name} is on ${found.channel}; machine-cloud release promote moves it`,
      Code.AlreadyExists,
    );
  }
  const file = found.files.find((known) => known.platform === platform);
  if (!file) {
    if (rollout) {
      throw refusal(
        "RELEASE_THERE",
        { version },
        `rollout: ${name} is there; machine-cloud release rollout changes who gets it`,
        Code.AlreadyExists,
      );
    }
    return "more";
  }
  if (sha256 === undefined || file.sha256 === sha256) return "the same";
  throw refusal(
    "VERSION_EXISTS",
    { name: program, version, platform },
    `version: ${name} has a file for ${platform} already, and a release is never changed; give a ` +
      "new version",
    Code.AlreadyExists,
  );
}
