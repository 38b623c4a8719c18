import { InstallError } from "./install_error.ts";
import type { RunProgram } from "../../shared/base/process/run_program.ts";
import { WINDOWS_SERVICE } from "./windows_service.ts";

/** What a service is started with. */
export interface ServiceCommand {
  readonly program: string;
  readonly credentialsFile: string;
  readonly defaultsFile: string;
  readonly dir: string;
}

const NO_SUCH_SERVICE = 1060;
const ALREADY_RUNNING = 1056;
const NOT_ACTIVE = 1062;
const EVENT_KEY = "HKLM\\SYSTEM\\CurrentControlSet\\Services\\EventLog\\Application\\" +
  WINDOWS_SERVICE;

/** How the service manager of Windows starts the agent, through the system's own `sc.exe`. */
export class WindowsServiceConfig {
  readonly #run: RunProgram;

  constructor(run: RunProgram) {
    this.#run = run;
  }

  async exists(): Promise<boolean> {
    return await this.#sc([NO_SUCH_SERVICE], "query", WINDOWS_SERVICE) === 0;
  }

  /** Starts with the host, and again when it ends with a code. */
  async create(command: ServiceCommand): Promise<void> {
    await this.#sc([], "create", WINDOWS_SERVICE, "binPath=", commandLine(command), ...[
      ...["start=", "auto"],
      ...["DisplayName=", "Machine agent"],
    ]);
    const description = "Runs, watches and updates machine-server";
    await this.#sc([], "description", WINDOWS_SERVICE, description);
    await this.#sc([], "failureflag", WINDOWS_SERVICE, "1");
    const events = ["/v", "EventMessageFile", "/t", "REG_EXPAND_SZ", "/d"];
    await this.#must("reg.exe", ["add", EVENT_KEY, ...events, MESSAGE_FILE, "/f"]);
  }

  /**
   * Lets the next start be of this program. One value of the registry is replaced, so there is the
   * old one or the new one at any moment.
   */
  async pointTo(command: ServiceCommand): Promise<void> {
    await this.#sc([], "config", WINDOWS_SERVICE, "binPath=", commandLine(command));
  }

  /**
   * Twice the service is started again; the third time Windows runs this program, a version that
   * is known to work, with `--restore`.
   */
  async setRescue(command: ServiceCommand): Promise<void> {
    await this.#sc([], "failure", WINDOWS_SERVICE, ...[
      ...["reset=", String(RESET_S)],
      ...["actions=", "restart/5000/restart/5000/run/5000"],
      ...["command=", commandLine(command, "--restore")],
    ]);
  }

  async start(): Promise<void> {
    await this.#sc([ALREADY_RUNNING], "start", WINDOWS_SERVICE);
  }

  async stop(): Promise<void> {
    await this.#sc([NOT_ACTIVE], "stop", WINDOWS_SERVICE);
  }

  async remove(): Promise<void> {
    await this.#sc([], "delete", WINDOWS_SERVICE);
    await this.#run("reg.exe", ["delete", EVENT_KEY, "/f"]);
  }

  /** @returns the exit code, 0 or one of the allowed. @throws {InstallError} */
  async #sc(allowed: readonly number[], ...args: string[]): Promise<number> {
    const { code, stdout, stderr } = await this.#run("sc.exe", args);
    if (code === 0 || allowed.includes(code)) return code;
    const said = `${stdout}\n${stderr}`.trim().replaceAll(/\s+/g, " ");
    throw new InstallError(`sc.exe ${args[0]} ${args[1]} failed with ${code}: ${said}`);
  }

  async #must(program: string, args: readonly string[]): Promise<void> {
    const { code, stderr } = await this.#run(program, args);
    if (code !== 0) throw new InstallError(`${program} ${args[0]} failed: ${stderr.trim()}`);
  }
}

/** Failures are forgotten after so much time without one. */
const RESET_S = 900;
/** A message file of Windows in which the events 1 to 1000 are plain text. */
const MESSAGE_FILE = "%SystemRoot%\\System32\\EventCreate.exe";

function commandLine(
  { program, credentialsFile, defaultsFile, dir }: ServiceCommand,
  option = "--service",
): string {
  return [
    quoted(program),
    option,
    ...["--config", quoted(credentialsFile)],
    ...["--defaults", quoted(defaultsFile)],
    ...["--dir", quoted(dir)],
  ].join(" ");
}

function quoted(path: string): string {
  if (path.includes('"')) throw new InstallError(`a path with a quotation mark: ${path}`);
  return `"${path}"`;
}
