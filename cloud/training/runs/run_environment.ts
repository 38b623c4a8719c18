import { dirname, join } from "node:path";

const USUAL_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const isWindows = Deno.build.os === "windows";
/** Without them no program starts on Windows. */
const WINDOWS_NAMES = ["SYSTEMROOT", "COMSPEC", "PATHEXT", "WINDIR"];
/** What configures where pip finds packages, and how. */
const PIP_NAMES = /^(PIP_.*|https?_proxy|all_proxy|no_proxy|SSL_CERT_FILE|REQUESTS_CA_BUNDLE)$/i;

/** Folders of one run that its environment names. */
export interface RunPlaces {
  /** The home folder. */
  readonly home: string;
  /** For temporary files. */
  readonly temporary: string;
}

/** Variables of this process; a part of them reaches scripts. */
export type Inherited = Readonly<Record<string, string>>;

/** What every program of a run has in its environment, and nothing else of the cloud's own. */
export function baseEnvironment(
  inherited: Inherited,
  { home, temporary }: RunPlaces,
): Record<string, string> {
  const env: Record<string, string> = {
    PATH: inherited["PATH"] ?? USUAL_PATH,
    HOME: home,
    TMPDIR: temporary,
    LANG: "C.UTF-8",
    PYTHONUNBUFFERED: "1",
    PYTHONDONTWRITEBYTECODE: "1",
  };
  if (!isWindows) return env;
  for (const [name, value] of Object.entries(inherited)) {
    if (WINDOWS_NAMES.includes(name.toUpperCase())) env[name] = value;
  }
  return { ...env, USERPROFILE: home, TEMP: temporary, TMP: temporary };
}

/** The same with a virtual environment in front. @param python the environment's program. */
export function virtualEnvironment(
  env: Readonly<Record<string, string>>,
  python: string,
): Record<string, string> {
  const bin = dirname(python);
  const separator = isWindows ? ";" : ":";
  return { ...env, PATH: `${bin}${separator}${env["PATH"] ?? ""}`, VIRTUAL_ENV: dirname(bin) };
}

/** What pip gets besides: its own settings, proxies and certificates of this process. */
export function pipEnvironment(inherited: Inherited): Record<string, string> {
  const env: Record<string, string> = {
    PIP_DISABLE_PIP_VERSION_CHECK: "1",
    PIP_NO_INPUT: "1",
    PIP_ROOT_USER_ACTION: "ignore",
    PIP_PROGRESS_BAR: "off",
  };
  for (const [name, value] of Object.entries(inherited)) {
    if (PIP_NAMES.test(name)) env[name] = value;
  }
  // One that scripts share would let each put code into the others' environments.
  if (env["PIP_CACHE_DIR"] === undefined) env["PIP_NO_CACHE_DIR"] = "1";
  return env;
}

/** Files and folders that pip's settings name: packages, certificates, settings. */
export function pipFiles(inherited: Inherited): string[] {
  const words = Object.entries(inherited).flatMap(([name, value]) =>
    PIP_NAMES.test(name) && name !== "PIP_CACHE_DIR" ? value.split(/\s+/) : []
  );
  const paths = words.map((word) => word.replace(/^file:\/\//, ""));
  return [...new Set(paths.filter((path) => path.startsWith("/") && exists(path)))];
}

/** The folder that the operator has given to pip for what it fetches; most give none. */
export function pipCache(inherited: Inherited): string[] {
  const folder = inherited["PIP_CACHE_DIR"] ?? "";
  return folder.startsWith("/") && exists(folder) ? [folder] : [];
}

function exists(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Where the program lies in a virtual environment. */
export function pythonIn(environment: string): string {
  return isWindows
    ? join(environment, "Scripts", "python.exe")
    : join(environment, "bin", "python3");
}
