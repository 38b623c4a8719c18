import { Code, ConnectError } from "@connectrpc/connect";
import { parse } from "semver";
import type { Program } from "../../storage/database/release_schema.ts";
import { type Reason, type ReasonValues, refusal } from "../../../shared/rpc/reasons.ts";
import { PLATFORMS } from "../../../shared/registry/platforms.ts";

export const PROGRAMS: readonly Program[] = ["machine-server", "machine-agent"];

/** What a release can have a file for. */
const RELEASE_PLATFORMS = PLATFORMS.filter((platform) => !platform.endsWith("any"));

const LONGEST_NOTES = 10_000;
const MOST_TAGS = 20;

/** The program of a name. Throws INVALID_ARGUMENT. */
export function requireProgram(field: string, name: string): Program {
  const program = PROGRAMS.find((known) => known === name);
  if (program) return program;
  throw new ConnectError(
    `${field}: ${JSON.stringify(name)} is no program; allowed are ${PROGRAMS.join(", ")}`,
    Code.InvalidArgument,
  );
}

/** The platform of a text. Throws INVALID_ARGUMENT. */
export function requirePlatform(platform: string): string {
  if (RELEASE_PLATFORMS.some((known) => known === platform)) return platform;
  throw new ConnectError(
    `platform: ${JSON.stringify(platform)} is no platform; allowed are ${
      RELEASE_PLATFORMS.join(", ")
    }`,
    Code.InvalidArgument,
  );
}

/** A version that a release can have. Throws INVALID_ARGUMENT. */
export function requireVersion(version: string): string {
  if (parse(version)?.version === version) return version;
  throw refused(
    "VERSION_INVALID",
    { version },
    `version: ${JSON.stringify(version)} is no version of a release; write three numbers as in ` +
      "1.2.3, or 1.2.3-rc.1, without v in front and without +build",
  );
}

/** What is written about a release. Throws INVALID_ARGUMENT. */
export function requireNotes(notes: string): string {
  if (notes.length <= LONGEST_NOTES) return notes;
  throw refused(
    "TOO_LONG",
    { most: LONGEST_NOTES },
    `notes: they are longer than ${LONGEST_NOTES} characters`,
  );
}

/** Who gets a release. */
export interface RolloutLimits {
  readonly percent: number;
  readonly tags: readonly string[];
  readonly stopPercent: number;
  readonly stopMinimum: number;
}

/** Throws INVALID_ARGUMENT. */
export function requireRollout(limits: RolloutLimits): RolloutLimits {
  const { percent, tags, stopPercent, stopMinimum } = limits;
  requirePercent("percent", percent);
  requirePercent("stop_percent", stopPercent);
  if (stopMinimum < 1) {
    throw refused("COUNT_INVALID", { least: 1 }, "stop_minimum: it must be 1 or more");
  }
  if (tags.length > MOST_TAGS) {
    throw refused("TOO_MANY", { most: MOST_TAGS }, `tags: there are more than ${MOST_TAGS}`);
  }
  const wrong = tags.find((tag) => !/^[A-Za-z0-9][\w-]{0,49}$/.test(tag));
  if (wrong === undefined) return limits;
  throw refused(
    "TAG_INVALID",
    { tag: wrong, most: 50 },
    `tags: ${JSON.stringify(wrong)} is no tag; allowed are 1 to 50 letters, digits, - and _, a ` +
      "letter or digit first",
  );
}

/** A program that cannot run where its release is for; undefined when nothing speaks against it. */
export function contentsProblem(head: Uint8Array, platform: string): string | undefined {
  if (head.length === 0) return "the file is empty";
  const isElf = startsWith(head, [0x7f, 0x45, 0x4c, 0x46]);
  const isWindows = startsWith(head, [0x4d, 0x5a]);
  const [os = "", architecture = ""] = platform.split("/");
  if (isWindows && os !== "windows") return `the file is a program for Windows, not for ${os}`;
  if (!isElf) return undefined;
  if (os !== "linux") return `the file is a program for Linux, not for ${os}`;
  if (head.length < HEAD_BYTES) return "the file is a program that was cut";
  const machine = new DataView(head.buffer, head.byteOffset).getUint16(MACHINE_AT, true);
  const found = ELF_MACHINES[machine];
  if (found === undefined || architecture.startsWith(found)) return undefined;
  return `the file is a program for ${found} processors, not for ${architecture}`;
}

/** So many bytes of a file are enough for {@link contentsProblem}. */
export const HEAD_BYTES = 20;

/** Where `e_machine` stands in the header of an ELF file, and what it can be. */
const MACHINE_AT = 18;
const ELF_MACHINES: Readonly<Record<number, string>> = { 40: "arm32", 62: "amd64", 183: "arm64" };

function startsWith(bytes: Uint8Array, start: readonly number[]): boolean {
  return start.every((byte, at) => bytes[at] === byte);
}

function requirePercent(field: string, value: number): void {
  if (value >= 0 && value <= 100) return;
  throw refused(
    "NUMBER_INVALID",
    { least: 0, most: 100 },
    `${field}: ${value} is no share; give 0 to 100`,
  );
}

function refused<R extends Reason>(
  reason: R,
  values: ReasonValues<R>,
  message: string,
): ConnectError {
  return refusal(reason, values, message, Code.InvalidArgument);
}
