/** Where packages lie below `$MACHINE_HOME`, and which names may stand in paths. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { PackageError } from "./package_error.ts";
import type { PackageKey } from "./package_types.ts";

/** Folders of unfinished and of abandoned packages; removed at a start. */
const UNPACK = ".unpack-";
const TRASH = ".trash-";
/** Names next to the links of models. */
const RESERVED: ReadonlySet<string> = new Set(["data", "part"]);
const NAME = /^[A-Za-z0-9_][A-Za-z0-9._+-]*$/;
/** Models are often versioned by a time, which has colons. */
const VERSION = /^[A-Za-z0-9_][A-Za-z0-9._+:-]*$/;
const LONGEST_NAME = 120;

/** Paths of one machine's packages. `folder` values are relative to the home, with `/`. */
export class PackageLayout {
  constructor(private readonly home: string) {}

  /** Links to the models' folders, and below it everything from the cloud. */
  get links(): string {
    return join(this.home, "packages");
  }

  get parts(): string {
    return join(this.home, "packages", "part");
  }

  /** The folders that hold packages. */
  roots(types: readonly string[]): string[] {
    return [
      ...types.map((type) => `packages/data/${type}`),
      "packages-local/data/module",
    ];
  }

  absolute(folder: string): string {
    return join(this.home, ...folder.split("/"));
  }

  /** The unfinished download of a package. */
  part(key: PackageKey): string {
    return join(this.parts, `${fingerprint(key)}.part`);
  }

  /** The folder that a package shall have. @throws {PackageError} a name cannot be in a path. */
  folder(key: PackageKey): string {
    checkKey(key);
    const version = key.version.replaceAll(/[.:]/g, "_");
    if (key.origin === "local") {
      return `packages-local/data/module/synthetic-${key.package}-${version}`;
    }
    return `packages/data/${key.type}/${key.package.replace("/", "-")}-${version}`;
  }

  /** Another one, for two packages whose folders would have the same name. */
  otherFolder(key: PackageKey): string {
    return `${this.folder(key)}-${fingerprint(key)}`;
  }

  /** A path for an unfinished folder next to a finished one. */
  temporary(folder: string): string {
    return this.#beside(folder, UNPACK);
  }

  /** Where a folder waits for its removal. */
  trash(folder: string): string {
    return this.#beside(folder, TRASH);
  }

  #beside(folder: string, prefix: string): string {
    const parent = folder.slice(0, folder.lastIndexOf("/"));
    return join(this.absolute(parent), prefix + crypto.randomUUID());
  }
}

/** True for the name of a folder that only an unfinished step leaves behind. */
export function isLeftover(name: string): boolean {
  return name.startsWith(UNPACK) || name.startsWith(TRASH);
}

/** Whether a package's name on the machine can be the name of a link. */
export function isLinkName(name: string): boolean {
  return isName(name) && !RESERVED.has(name);
}

/** What is wrong with a name that {@link isLinkName} does not take. */
export function linkNameProblem(name: string): PackageError {
  return impossible(
    `the package name ${JSON.stringify(name)} cannot be used: ${ALLOWED}; ` +
      `${[...RESERVED].join(" and ")} are taken`,
  );
}

/** @throws {PackageError} a part of the key cannot stand in a path. */
export function checkKey(key: PackageKey): void {
  const names = key.origin === "local" ? [key.package] : key.package.split("/");
  if (names.length !== (key.origin === "local" ? 1 : 2) || !names.every(isName)) {
    const form = key.origin === "local" ? "a name" : "<organisation>/<name>";
    throw impossible(
      `the package ${JSON.stringify(key.package)} cannot be used: ${form} is needed, ${ALLOWED}`,
    );
  }
  if (key.version.length > LONGEST_NAME || !VERSION.test(key.version)) {
    throw impossible(
      `the version ${JSON.stringify(key.version)} of the package ${key.package} cannot be used: ` +
        `${ALLOWED}; and :`,
    );
  }
}

const ALLOWED = `letters, digits and . _ + - are allowed, at most ${LONGEST_NAME} of them, ` +
  "not . + - at the start";

function isName(text: string): boolean {
  return text.length <= LONGEST_NAME && NAME.test(text);
}

function impossible(message: string): PackageError {
  return new PackageError("impossible", message);
}

function fingerprint({ origin, type, package: id, version }: PackageKey): string {
  const text = [origin, type, id, version].join("\n");
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}
