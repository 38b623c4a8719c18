/** Keeps the agent's folder on Windows in the hands of the system and its administrators. */
import { win32 } from "node:path";
import { toError } from "../../shared/base/errors/to_error.ts";
import { InstallError } from "./install_error.ts";
import type { RunProgram } from "../../shared/base/process/run_program.ts";
import {
  canReplace,
  isTrusted,
  parseSddl,
  type SecurityDescriptor,
  Sid,
} from "./security_descriptor.ts";

export interface FolderGuardOptions {
  /** The agent's folder. What runs as the system lies in it, and secrets do. */
  readonly dir: string;
  readonly run: RunProgram;
  readonly say: (line: string) => void;
  /** Makes a folder; false when it is there already. Default: the file system's. */
  readonly makeFolder?: (path: string) => Promise<boolean>;
}

const FULL = [`*${Sid.system}:(OI)(CI)F`, `*${Sid.administrators}:(OI)(CI)F`] as const;
const READ = `*${Sid.users}:(OI)(CI)RX`;

/**
 * Makes the folder that is missing, and leaves it to the system and the administrators alone: they
 * own it and have every right, nobody else has any. Nobody else can exchange a folder above it.
 *
 * @throws {InstallError} a folder, or something in a folder that was open to others, belongs to
 *   somebody else, who may have put anything there; the reason says what to do.
 */
export async function makeGuardedFolder(options: FolderGuardOptions): Promise<void> {
  const { dir, makeFolder = makeOne } = options;
  const made = new Set<string>();
  for (const path of [...foldersAbove(dir), dir]) if (await makeFolder(path)) made.add(path);
  await guard(options, made);
}

/** The same for a folder that is there, at each start of the service. @throws {InstallError} */
export async function checkGuardedFolder(options: FolderGuardOptions): Promise<void> {
  await guard(options, new Set());
}

async function guard(options: FolderGuardOptions, made: ReadonlySet<string>): Promise<void> {
  const { dir, run, say } = options;
  const paths = [...foldersAbove(dir), dir];
  const found = await descriptorsOf(paths, run);
  for (const [path, { owner }] of found) {
    // Who made a folder in place of ours owns it, and can give themselves every right again.
    if (!made.has(path) && !isTrusted(owner)) throw foreign(path, owner);
  }
  if (!made.has(dir)) await checkContents(dir, run);
  for (const [path, descriptor] of found) {
    if (path !== dir) await closeAbove(path, descriptor, made.has(path), options);
  }
  const own = found.get(dir);
  const others = own?.allows.filter(({ sid }) => !isTrusted(sid)) ?? [];
  if (own && others.length === 0 && isTrusted(own.owner)) return;
  await icacls(run, dir, "/inheritance:r", "/grant:r", ...FULL);
  await removeAll(run, dir, others.map(({ sid }) => sid));
  // Nobody can add anything any more; what came in the meantime must not change its owner.
  if (!made.has(dir)) await checkContents(dir, run);
  await icacls(run, dir, "/setowner", `*${Sid.administrators}`, "/T", "/C", "/L", "/Q");
  // What is in it has the same rights, by inheritance, and none of its own.
  if (!made.has(dir)) await icacls(run, win32.join(dir, "*"), "/reset", "/T", "/C", "/L", "/Q");
  const closed = (await descriptorsOf([dir], run)).get(dir);
  if (!closed || !isTrusted(closed.owner) || !closed.allows.every(({ sid }) => isTrusted(sid))) {
    throw new InstallError(`the permissions of ${dir} could not be set; look at: icacls "${dir}"`);
  }
  if (!made.has(dir)) {
    say(
      `${dir} was open to others than administrators, and is not any more; if somebody may have ` +
        "changed a program in it, remove the folder and install again",
    );
  }
}

/** Others may look into a folder above ours, and not exchange what is in it. */
async function closeAbove(
  path: string,
  { allows }: SecurityDescriptor,
  isMade: boolean,
  { run, say }: FolderGuardOptions,
): Promise<void> {
  const others = allows.filter((allowed) => !isTrusted(allowed.sid) && canReplace(allowed));
  if (others.length === 0 && !isMade) return;
  await icacls(run, path, "/inheritance:r", "/grant:r", ...FULL, READ);
  await removeAll(run, path, others.map(({ sid }) => sid).filter((sid) => sid !== Sid.users));
  await icacls(run, path, "/setowner", `*${Sid.administrators}`);
  if (!isMade) {
    say(`${path}, in which the agent's folder lies, can be changed by administrators only`);
  }
}

/** @throws {InstallError} */
async function checkContents(dir: string, run: RunProgram): Promise<void> {
  const script = `Get-ChildItem -LiteralPath ${quoted(dir)} -Recurse -Force | ` +
    "ForEach-Object { (Get-Acl -LiteralPath $_.FullName).Sddl + [char]9 + $_.FullName }";
  for (const line of await powershell(script, run)) {
    const [sddl = "", path = ""] = line.split("\t");
    const { owner } = read(sddl, path);
    if (!isTrusted(owner)) throw foreign(path, owner);
  }
}

async function descriptorsOf(
  paths: readonly string[],
  run: RunProgram,
): Promise<Map<string, SecurityDescriptor>> {
  const script = paths.map((path) => `(Get-Acl -LiteralPath ${quoted(path)}).Sddl`).join("; ");
  const lines = await powershell(script, run);
  if (lines.length !== paths.length) {
    throw new InstallError(`the permissions of ${paths.join(", ")} cannot be read`);
  }
  return new Map(paths.map((path, index) => [path, read(lines[index] ?? "", path)]));
}

function read(sddl: string, path: string): SecurityDescriptor {
  try {
    return parseSddl(sddl);
  } catch (error) {
    const reason = toError(error).message;
    throw new InstallError(`the permissions of ${path} are not understood: ${reason}`);
  }
}

function foreign(path: string, owner: string): InstallError {
  return new InstallError(
    `${path} belongs to ${owner}, who could exchange what the system runs from it; look at what ` +
      `is in it, remove it, or take it over as administrator: takeown /F "${path}" /A /R /D Y`,
  );
}

async function removeAll(run: RunProgram, path: string, sids: readonly string[]): Promise<void> {
  for (const sid of new Set(sids)) await icacls(run, path, "/remove", `*${sid}`);
}

async function icacls(run: RunProgram, path: string, ...args: string[]): Promise<void> {
  const { code, stdout, stderr } = await run("icacls.exe", [path, ...args]);
  if (code === 0) return;
  const said = `${stdout}\n${stderr}`.trim().replaceAll(/\s+/g, " ");
  throw new InstallError(`icacls.exe ${path} ${args[0]} failed with ${code}: ${said}`);
}

async function powershell(script: string, run: RunProgram): Promise<string[]> {
  const strict = `$ErrorActionPreference = 'Stop'; ${script}`;
  const args = ["-NoProfile", "-NonInteractive", "-Command", strict];
  const { code, stdout, stderr } = await run("powershell.exe", args);
  if (code === 0) return stdout.split(/\r?\n/).filter((line) => line !== "");
  throw new InstallError(`the permissions cannot be read: ${stderr.trim().split("\n", 1)[0]}`);
}

/** `C:\opt` of `C:\opt\machine`; the root of the drive is the system's own matter. */
function foldersAbove(dir: string): string[] {
  const above: string[] = [];
  for (let path = win32.dirname(dir); path !== win32.dirname(path); path = win32.dirname(path)) {
    above.unshift(path);
  }
  return above;
}

const quoted = (path: string): string => `'${path.replaceAll("'", "''")}'`;

async function makeOne(path: string): Promise<boolean> {
  try {
    await Deno.mkdir(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AlreadyExists) return false;
    throw error;
  }
}
