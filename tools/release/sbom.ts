import { Buffer } from "node:buffer";

/** What of `deno.lock` a bill of materials is made of. */
export interface Lock {
  /** By `name@version`, behind which stand what it was chosen with: `_peer@version`. */
  readonly npm: Readonly<Record<string, LockedPackage>>;
}

interface LockedPackage {
  /** `sha512-` and the hash of the package in base64. */
  readonly integrity: string;
  /** Names, with a version where there are several of that name. */
  readonly dependencies?: readonly string[];
}

/** A program and what is in it. */
export interface ProgramContents {
  readonly name: string;
  /** Keys of {@link Lock.npm}. */
  readonly packages: ReadonlySet<string>;
}

export interface BillOptions {
  readonly version: string;
  readonly commit: string;
  /** The commit's, so that two bills of one commit are the same. */
  readonly time: Date;
  readonly lock: Lock;
  readonly programs: readonly ProgramContents[];
  /** Version of the runtime in the programs. */
  readonly deno: string;
  /** SPDX expression of a package's licence, where its package.json has one. */
  licence(key: string): string | undefined;
}

/** `@scope/name` and `1.2.3` of a key such as `@scope/name@1.2.3_peer@4.5.6`. */
export function nameAndVersion(key: string): { name: string; version: string } {
  const [, name = key, version = ""] = /^(@?[^@]+)@([^_]+)/.exec(key) ?? [];
  return { name, version };
}

/** Keys of the packages that files under `node_modules` belong to. @throws {Error} for one that is not locked */
export function packagesOf(files: readonly string[], lock: Lock): Set<string> {
  // Folders have the name and the version, and what it was chosen with only sometimes.
  const folders = Map.groupBy(Object.keys(lock.npm), folderOf);
  const found = new Set<string>();
  for (const file of files) {
    const [, folder] = /node_modules\/\.deno\/([^/]+)\//.exec(file) ?? [];
    if (folder === undefined) continue;
    const [named = folder] = /^@?[^@]+@[^_]+/.exec(folder) ?? [];
    const keys = folders.get(named);
    if (keys === undefined) throw new Error(`${file} belongs to no package of deno.lock`);
    for (const key of keys) found.add(key);
  }
  return found;
}

/** First part of the folder below `node_modules/.deno` that a package is in. */
export function folderOf(key: string): string {
  const { name, version } = nameAndVersion(key);
  return `${name.replaceAll("/", "+")}@${version}`;
}

/** Packages and everything it needs. */
export function withDependencies(keys: Iterable<string>, lock: Lock): Set<string> {
  const found = new Set(keys);
  for (const key of found) for (const other of dependenciesOf(key, lock)) found.add(other);
  return found;
}

/**
 * A bill of materials in CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/): the packages in the
 * programs, and the ones that only build or test them with scope `excluded`.
 */
export function billOfMaterials(options: BillOptions): unknown {
  const { version, commit, time, lock, programs, deno } = options;
  const reference = (key: string): string => `${purl(key)}#${key}`;
  const holders = (key: string): string[] =>
    programs.filter(({ packages }) => packages.has(key)).map(({ name }) => name);
  const keys = Object.keys(lock.npm).sort();
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      timestamp: time.toISOString(),
      component: {
        "type": "application",
        "bom-ref": "machine",
        "name": "machine",
        version,
        "licenses": [{ license: { id: "Apache-2.0" } }],
        "properties": [{ name: "commit", value: commit }],
      },
    },
    components: [
      ...programs.map(({ name }) => ({
        "type": "application",
        "bom-ref": name,
        name,
        version,
        "licenses": [{ license: { id: "Apache-2.0" } }],
      })),
      {
        "type": "platform",
        "bom-ref": "deno",
        "name": "deno",
        "version": deno,
        "purl": `pkg:github/denoland/deno@v${deno}`,
        "licenses": [{ license: { id: "MIT" } }],
      },
      ...keys.map((key) => component(key, reference(key), holders(key), options)),
    ],
    dependencies: [
      { ref: "machine", dependsOn: programs.map(({ name }) => name) },
      ...programs.map(({ name, packages }) => ({
        ref: name,
        dependsOn: ["deno", ...[...packages].sort().map(reference)],
      })),
      ...keys.map((key) => ({
        ref: reference(key),
        dependsOn: dependenciesOf(key, lock).map(reference),
      })),
    ],
  };
}

function component(
  key: string,
  reference: string,
  holders: readonly string[],
  { lock, licence }: BillOptions,
): unknown {
  const { name, version } = nameAndVersion(key);
  const [group, short] = name.startsWith("@") ? name.split("/") : [undefined, name];
  const expression = licence(key);
  return {
    "type": "library",
    "bom-ref": reference,
    ...(group === undefined ? {} : { group }),
    "name": short,
    version,
    "scope": holders.length > 0 ? "required" : "excluded",
    "hashes": [{ alg: "SHA-512", content: sha512Of(lock.npm[key]!.integrity) }],
    ...(expression === undefined ? {} : { licenses: [{ expression }] }),
    "purl": purl(key),
    "properties": holders.map((value) => ({ name: "program", value })),
  };
}

function purl(key: string): string {
  const { name, version } = nameAndVersion(key);
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function sha512Of(integrity: string): string {
  return Buffer.from(integrity.replace(/^sha512-/, ""), "base64").toString("hex");
}

/** A name without a version means the only package of that name. */
function dependenciesOf(key: string, lock: Lock): string[] {
  return (lock.npm[key]?.dependencies ?? []).flatMap((wanted) => {
    if (lock.npm[wanted]) return [wanted];
    const found = Object.keys(lock.npm).filter((other) =>
      nameAndVersion(other).name === wanted || other.startsWith(`${wanted}_`)
    );
    return found.length === 1 ? found : [];
  });
}
