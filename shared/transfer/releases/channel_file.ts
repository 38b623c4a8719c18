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
  /** The last day on which the list counts; left out: it always does. */
  expires: z.string().regex(/^\d{4}-\d{2}-\d{2}$/).optional(),
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

/**
 * Refuses a list that expired: who can hold back newer ones would keep a fleet on old releases.
 *
 * @throws {RangeError}
 */
export function requireCurrent({ expires }: ChannelFile, now: Date): void {
  const today = now.toISOString().slice(0, 10);
  if (expires === undefined || today <= expires) return;
  throw new RangeError(
    `it expired on ${expires}, and it is ${today} by this host's clock; a newer one is needed`,
  );
}

/** How long a list counts after its release. */
const COUNTS_DAYS = 365;

/** The last day on which the list of a release counts. @param released `2026-01-31` */
export function expiryOf(released: string): string {
  const day = new Date(`${released}T00:00:00Z`);
  day.setUTCDate(day.getUTCDate() + COUNTS_DAYS);
  return day.toISOString().slice(0, 10);
}
