import { z } from "zod";

/** A file of a release, as a download folder offers it. */
const releaseFile = z.object({
  /** `machine-server`, `machine-agent`, `machine-cloud` or `machine`. */
  program: z.string().min(1).max(100),
  /** `linux/amd64` */
  platform: z.string().min(1).max(100),
  /** Relative to the folder, below it: no `..`, no address. */
  path: z.string().max(500).regex(
    /^(?!.*(?:^|\/)\.\.?(?:\/|$))[A-Za-z0-9._+-]+(?:\/[A-Za-z0-9._+-]+)*$/,
  ),
  /** Bytes. */
  size: z.number().int().positive().max(2 ** 31),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});

/** The newest release of a channel in a download folder: `stable.json`, `dev.json`. */
const channelFile = z.object({
  format: z.literal("machine releases 1"),
  channel: z.enum(["stable", "dev"]),
  version: z.string().regex(/^\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?$/).max(100),
  /** Day, `2026-01-31`. */
  released: z.string().regex(/^\d{4}-\d{2}-\d{2}$/),
  commit: z.string().max(100),
  notes: z.string().max(100_000),
  files: z.array(releaseFile).min(1).max(200),
});

export type ChannelFile = z.infer<typeof channelFile>;

/** @throws {RangeError} naming the first field that is wrong */
export function parseChannelFile(text: string): ChannelFile {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new RangeError("it is no JSON");
  }
  const { success, data, error } = channelFile.safeParse(json);
  if (success) return data;
  const [issue] = error.issues;
  throw new RangeError(`${issue?.path.join(".") || "it"}: ${issue?.message}`);
}
