import { Code } from "@connectrpc/connect";
import { join } from "node:path";
import { readIfExists } from "../../../shared/base/files/read_file.ts";
import type { ExitInfo } from "../../../shared/base/process/child_process.ts";
import { REQUIREMENTS_FILE, requirementsArguments } from "./managed_script.ts";
import type { Python } from "./python.ts";
import { pythonIn } from "./run_environment.ts";
import { failedWith, RunFailedError } from "./run_failure.ts";
import type { RunOutput } from "./run_output.ts";

/** Runs one program of the making of an environment. */
export type RunStep = (step: {
  /** In words, for reasons. */
  readonly what: string;
  readonly program: string;
  readonly args: readonly string[];
  /** Code of the script runs in it, or code from the package index. */
  readonly isForeign: boolean;
}) => Promise<ExitInfo>;

export interface MakeEnvironmentOptions {
  readonly python: Python;
  readonly run: RunStep;
  readonly output: RunOutput;
}

const VENV = "venv";
const PIP = ["-m", "pip", "install", "--no-warn-script-location"];

/** The Python of an environment that was made in a folder. */
export function environmentPython(folder: string): string {
  return pythonIn(join(folder, VENV));
}

/** Makes a virtual environment with nothing in it but pip. @throws {RunFailedError} */
export async function makeEnvironment(
  folder: string,
  { python, run, output }: MakeEnvironmentOptions,
): Promise<void> {
  output.note("info", `making a Python ${python.version} environment for the script`);
  const what = "making the Python environment";
  const step = async (program: string, args: readonly string[]) =>
    await run({ what, program, args, isForeign: false });
  let exit = await step(python.program, ["-m", "venv", "--without-pip", join(folder, VENV)]);
  const program = environmentPython(folder);
  if (exit.code === 0) exit = await step(python.program, ["-I", "-c", GIVE_PIP, program]);
  if (exit.code === HAS_NO_WHEELS) {
    exit = await step(program, ["-I", "-m", "ensurepip", "--upgrade", "--default-pip"]);
  }
  if (exit.code === 0) return;
  throw new RunFailedError(Code.FailedPrecondition, failedWith(what, exit, output.tail()));
}

/** Exit code of {@link GIVE_PIP}. */
const HAS_NO_WHEELS = 3;

/**
 * Unpacks what `ensurepip` would have pip install, which takes four seconds of a processor, most of
 * them for compiling what is never used.
 */
const GIVE_PIP = `
import ensurepip, glob, os, subprocess, sys, zipfile
folders = [os.path.join(os.path.dirname(ensurepip.__file__), "_bundled"), "/usr/share/python-wheels"]
names = ["pip"] if sys.version_info >= (3, 12) else ["pip", "setuptools"]
found = [[path for folder in folders for path in glob.glob(os.path.join(folder, name + "-*-none-any.whl"))]
    for name in names]
if not all(found): sys.exit(${HAS_NO_WHEELS})
site = subprocess.check_output([sys.argv[1], "-I", "-c",
    "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True).strip()
for paths in found:
    with zipfile.ZipFile(paths[0]) as wheel: wheel.extractall(site)
`;

/**
 * Installs a script's package and what it requires.
 *
 * @param source its distribution.
 * @throws {RunFailedError} FAILED_PRECONDITION with pip's last lines.
 */
export async function installScript(
  folder: string,
  source: string,
  { python, run, output }: MakeEnvironmentOptions,
): Promise<void> {
  const program = environmentPython(folder);
  const isPlain = await isBuiltBySetuptools(source);
  if (isPlain) {
    const args = ["-I", "-c", GIVE_BUILD_TOOLS, program];
    await run({ what: "preparing setuptools", program: python.program, args, isForeign: false });
  }
  const hasTools = isPlain && await hasBuildTools(program, run);
  output.note("info", "installing the script and what it requires with pip");
  output.forgetTail();
  const how = hasTools ? ["--no-build-isolation"] : [];
  await pip(program, [...how, source], { run, output }, "installing the script with pip");
}

/**
 * Installs libraries. @throws {RunFailedError} as {@link installScript} does.
 *
 * @param requirements the text of a requirements file, with hashes of everything
 */
export async function installRequirements(
  folder: string,
  requirements: string,
  { run, output }: MakeEnvironmentOptions,
): Promise<void> {
  const count = requirements.match(/^[\w.-]+==/gm)?.length ?? 0;
  output.note("info", `installing the ${count} libraries of the script with pip`);
  const path = join(folder, REQUIREMENTS_FILE);
  await Deno.writeTextFile(path, requirements);
  const program = environmentPython(folder);
  const wanted = requirementsArguments(path);
  await pip(program, wanted, { run, output }, "installing the libraries with pip");
}

async function pip(
  program: string,
  wanted: readonly string[],
  { run, output }: Pick<MakeEnvironmentOptions, "run" | "output">,
  what: string,
): Promise<void> {
  const exit = await run({ what, program, args: [...PIP, ...wanted], isForeign: true });
  if (exit.code === 0) return;
  throw new RunFailedError(Code.FailedPrecondition, failedWith(what, exit, output.tail()));
}

/** Whether setuptools alone builds the distribution; pip fetches any other builder. */
async function isBuiltBySetuptools(source: string): Promise<boolean> {
  const project = await readIfExists(join(source, "pyproject.toml"));
  const table = /^\[build-system\]$([^[]*(?:\[[^\]]*\][^[]*?)*?)(?=^\[|(?![^]))/m.exec(
    project ?? "",
  );
  if (project === undefined || !table) return true;
  const [text = ""] = table;
  const backend = /^\s*build-backend\s*=\s*["']([^"']*)["']/m.exec(text)?.[1];
  if (backend !== undefined && !backend.startsWith("setuptools.build_meta")) return false;
  const required = /^\s*requires\s*=\s*\[([^\]]*)\]/m.exec(text)?.[1] ?? "";
  const names = [...required.matchAll(/["']\s*([A-Za-z0-9._-]+)/g)].map(([, name]) => name);
  return names.every((name) => name === "setuptools" || name === "wheel");
}

/**
 * Copies setuptools from the host's Python: environments of Python 3.12 and newer have none,
 * and then pip would fetch it for each script.
 */
const GIVE_BUILD_TOOLS = `
import glob, importlib.util, os, shutil, subprocess, sys
site = subprocess.check_output([sys.argv[1], "-I", "-c",
    "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True).strip()
for name in ("setuptools", "pkg_resources", "_distutils_hack", "wheel"):
    spec = importlib.util.find_spec(name)
    target = os.path.join(site, name)
    if spec is None or not spec.submodule_search_locations or os.path.exists(target):
        continue
    folder = list(spec.submodule_search_locations)[0]
    shutil.copytree(folder, target, ignore=shutil.ignore_patterns("__pycache__"))
    for about in glob.glob(os.path.join(os.path.dirname(folder), name + "-*.*-info")):
        if os.path.isdir(about):
            shutil.copytree(about, os.path.join(site, os.path.basename(about)))
`;

/** Old versions of setuptools need a second library to build what pip installs. */
const LOOK_FOR_BUILD_TOOLS = `
import importlib.util as u, sys
if u.find_spec("setuptools") is None: sys.exit(1)
from setuptools import __version__ as v
sys.exit(0 if u.find_spec("wheel") or tuple(map(int, v.split(".")[:2])) >= (70, 1) else 1)
`;

async function hasBuildTools(program: string, run: RunStep): Promise<boolean> {
  const args = ["-I", "-c", LOOK_FOR_BUILD_TOOLS];
  const exit = await run({ what: "looking for setuptools", program, args, isForeign: false });
  return exit.code === 0;
}
