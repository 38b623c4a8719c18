import { join } from "node:path";
import * as z from "zod";
import { readIfExists } from "../../shared/base/files/read_file.ts";
import { writeFileAtomic } from "../../shared/base/files/atomic_write.ts";
import { UsageError } from "../../shared/base/flags/flags.ts";
import { nearestName } from "../../shared/base/flags/nearest.ts";

/** One cloud and who signs in there. */
const placeSchema = z.object({
  /** `https://host` or `http://host:port`. */
  cloud: z.string(),
  /** The key or the session's token may go over plaintext to another host. */
  allow_insecure: z.boolean().optional(),
});

const keySchema = placeSchema.extend({ key_id: z.string(), key: z.string() });

const sessionSchema = placeSchema.extend({
  email: z.string(),
  access_token: z.string(),
  /** When the session expires, ISO 8601. */
  expires_at: z.string(),
});

const profileSchema = z.union([keySchema, sessionSchema]);

/** Who signs in by an API key. */
export type KeyProfile = z.infer<typeof keySchema>;

/** A person who signed in by password. */
export type SessionProfile = z.infer<typeof sessionSchema>;

export type Profile = KeyProfile | SessionProfile;

/** What JSON and tables say of who signs in; the field of the other kind is empty. */
export function accountOf(profile: Profile): { readonly key_id: string; readonly email: string } {
  return "key" in profile
    ? { key_id: profile.key_id, email: "" }
    : { key_id: "", email: profile.email };
}

const fileSchema = z.object({
  current: z.string().optional(),
  profiles: z.record(z.string(), profileSchema),
});

type ProfilesFile = z.infer<typeof fileSchema>;

export type ReadEnv = (name: string) => string | undefined;

/** The folder of this program's settings: `~/.config/machine`. */
export function settingsFolder(env: ReadEnv): string {
  const own = env("MACHINE_CONFIG_DIR");
  if (own) return own;
  const base = env("XDG_CONFIG_HOME") || env("APPDATA");
  if (base) return join(base, "machine");
  return join(env("HOME") || env("USERPROFILE") || ".", ".config", "machine");
}

/** Profiles by name, in `profiles.json`, which only its owner can read. */
export class Profiles {
  readonly path: string;

  constructor(private readonly folder: string) {
    this.path = join(folder, "profiles.json");
  }

  /** @throws {Error} for a file that is no list of profiles */
  async read(): Promise<ProfilesFile> {
    const text = await readIfExists(this.path);
    if (text === undefined) return { profiles: {} };
    try {
      return fileSchema.parse(JSON.parse(text));
    } catch (error) {
      throw new Error(
        `${this.path} is damaged; remove it and sign in again with machine login`,
        { cause: error },
      );
    }
  }

  /** Keeps a profile, which commands use from now on. */
  async save(name: string, profile: Profile): Promise<void> {
    const { profiles } = await this.read();
    await this.#write({ current: name, profiles: { ...profiles, [name]: profile } });
  }

  /** The names of the profiles that sign in by an API key. */
  async withKey(id: string): Promise<string[]> {
    const { profiles } = await this.read();
    return Object.entries(profiles).filter(([, profile]) =>
      "key" in profile && profile.key_id === id
    ).map(([name]) => name);
  }

  /** Has a profile that is there sign in by another key of the same cloud. */
  async replaceKey(name: string, key: Pick<KeyProfile, "key_id" | "key">): Promise<void> {
    const file = await this.read();
    const { cloud, allow_insecure } = (await this.choose(name)).profile;
    const profile = { cloud, ...(allow_insecure === undefined ? {} : { allow_insecure }), ...key };
    await this.#write({ ...file, profiles: { ...file.profiles, [name]: profile } });
  }

  /** Has commands use a profile that is there. @throws {UsageError} */
  async use(name: string): Promise<void> {
    const file = await this.read();
    requireKnown(file, name);
    await this.#write({ ...file, current: name });
  }

  /** Forgets a profile. @returns its name. @throws {UsageError} */
  async remove(wanted: string | undefined): Promise<string> {
    const file = await this.read();
    const name = wanted ?? file.current;
    if (name === undefined) throw new UsageError("nobody is signed in");
    requireKnown(file, name);
    const { [name]: _, ...profiles } = file.profiles;
    const current = file.current === name ? Object.keys(profiles)[0] : file.current;
    await this.#write({ ...(current === undefined ? {} : { current }), profiles });
    return name;
  }

  /** The one that is wanted, or that was used last. @throws {UsageError} that says how to sign in */
  async choose(wanted: string | undefined): Promise<{ name: string; profile: Profile }> {
    const file = await this.read();
    const name = wanted ?? file.current;
    if (name === undefined) {
      throw new UsageError(
        "you are not signed in; sign in with machine login --cloud URL",
      );
    }
    requireKnown(file, name);
    return { name, profile: file.profiles[name]! };
  }

  async #write(file: ProfilesFile): Promise<void> {
    await Deno.mkdir(this.folder, { recursive: true, mode: 0o700 });
    await writeFileAtomic(this.path, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
  }
}

function requireKnown({ profiles }: ProfilesFile, name: string): void {
  if (Object.hasOwn(profiles, name)) return;
  const known = Object.keys(profiles);
  const near = nearestName(name, known);
  const hint = near === undefined ? "" : ` (did you mean ${near}?)`;
  throw new UsageError(
    `there is no profile ${JSON.stringify(name)}${hint}; there is ${
      known.join(", ") || "none"
    }; make one with machine login --profile ${name} --cloud URL`,
  );
}
