import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";
import { join, resolve } from "node:path";
import process from "node:process";
import { toError } from "../../shared/base/errors/to_error.ts";
import { signedText } from "../../micro/core/ota/ota.ts";
import { run } from "./run.ts";

/** A program with drivers of its own, as `machine micro new` makes one. */
export interface Project {
  /** Absolute; the program is what its `program.ts` exports. */
  readonly folder: string;
  /** The last part of `name` in `deno.json`. */
  readonly name: string;
  readonly version: string;
  /** Raw Ed25519 key of `update-key.pub`, that updates have to be signed with. */
  readonly updateKey: Uint8Array | undefined;
}

/** What the attributes of the update service are, but for the `url`. */
export interface UpdateAttributes {
  readonly version: string;
  /** Of the image; hexadecimal. */
  readonly sha256: string;
  readonly signature?: string;
}

/** @throws Error naming the file that is missing, or what is wrong in it */
export async function readProject(given: string): Promise<Project> {
  const folder = resolve(given);
  const file = join(folder, "deno.json");
  const text = await Deno.readTextFile(file).catch((error: unknown) => {
    throw new Error(`cannot read the project's ${file}: ${toError(error).message}`);
  });
  const { name, version } = parseManifest(text, file);
  const shortName = /^(?:@[\w-]+\/)?([\w-]{1,60})$/.exec(name ?? "")?.[1];
  if (shortName === undefined) throw new Error(`${file}: name must be as "@local/my-program"`);
  if (!/^\d+\.\d+\.\d+[-.\w]{0,60}$/.test(version ?? "")) {
    throw new Error(`${file}: version must be as "1.2.3"`);
  }
  const updateKey = await readUpdateKey(join(folder, "update-key.pub"));
  return { folder, name: shortName, version: version ?? "", updateKey };
}

function parseManifest(text: string, file: string): { name?: string; version?: string } {
  try {
    const { name, version } = JSON.parse(text) as Record<string, unknown>;
    return {
      ...(typeof name === "string" ? { name } : {}),
      ...(typeof version === "string" ? { version } : {}),
    };
  } catch (error) {
    throw new Error(`${file} is no JSON: ${toError(error).message}`);
  }
}

async function readUpdateKey(file: string): Promise<Uint8Array | undefined> {
  const pem = await Deno.readTextFile(file).catch((error: unknown) => {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  });
  return pem === undefined ? undefined : rawPublicKey(keyOf(createPublicKey, pem, file));
}

/** A private key in PEM form. @throws Error when it is none, or not of Ed25519 */
export async function readSigningKey(file: string): Promise<KeyObject> {
  return keyOf(createPrivateKey, await Deno.readTextFile(file), file);
}

function keyOf(parse: (pem: string) => KeyObject, pem: string, file: string): KeyObject {
  let key: KeyObject;
  try {
    key = parse(pem);
  } catch (error) {
    throw new Error(`${file} is no key in PEM form: ${toError(error).message}`);
  }
  if (key.asymmetricKeyType === "ed25519") return key;
  throw new Error(`${file} must be a key of Ed25519, and is one of ${key.asymmetricKeyType}`);
}

function rawPublicKey(key: KeyObject): Uint8Array {
  return new Uint8Array(key.export({ type: "spki", format: "der" }).subarray(-32));
}

/**
 * Checks the types of a project's sources, by the language alone: what a device does not have is
 * not known there.
 *
 * @throws Error with what is wrong, by file and line.
 */
export async function checkProject(root: string, { folder }: Project): Promise<void> {
  const work = await Deno.makeTempDir({ prefix: "machine-micro-check-" });
  try {
    const config = join(work, "deno.json");
    await Deno.writeTextFile(
      config,
      JSON.stringify({
        imports: { "machine-micro": join(root, "micro/core/project.ts") },
        compilerOptions: { strict: true, lib: ["esnext"] },
      }),
    );
    await run(Deno.execPath(), [
      ...["check", "--quiet", "--no-lock", "--config", config],
      join(folder, "program.ts"),
    ], { env: { NO_COLOR: "1" } });
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

/**
 * What the update service of a device says of an image.
 *
 * @throws Error when the key is not the one that devices with this program ask for.
 */
export async function updateAttributes(
  image: string,
  { version, updateKey }: Project,
  key: KeyObject | undefined,
): Promise<UpdateAttributes> {
  const digest = createHash("sha256").update(await Deno.readFile(image)).digest();
  const sha256 = digest.toString("hex");
  if (!key) {
    if (updateKey) {
      process.stderr.write("micro: not signed; devices with its update-key.pub refuse it: KEY=\n");
    }
    return { version, sha256 };
  }
  const own = rawPublicKey(createPublicKey(key));
  if (updateKey && !own.every((byte, i) => byte === updateKey[i])) {
    throw new Error("the key is not the one of the project's update-key.pub");
  }
  const signature = sign(null, signedText(version, new Uint8Array(digest)), key).toString("hex");
  return { version, sha256, signature };
}
