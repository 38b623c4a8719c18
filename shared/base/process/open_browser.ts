import { spawn } from "node:child_process";

/** Where this program runs, as far as a browser is concerned. */
export interface BrowserPlace {
  readonly os: string;
  readonly env: (name: string) => string | undefined;
  /** A person looks at the output. */
  readonly isTerminal: boolean;
}

/**
 * The program that opens a page in the person's browser; undefined where there is none: no desktop,
 * another host's terminal, no person, or `MACHINE_BROWSER=none`. `MACHINE_BROWSER` may name
 * another program, which gets the address.
 */
export function browserCommand(
  { os, env, isTerminal }: BrowserPlace,
  url: string,
): readonly [program: string, ...args: string[]] | undefined {
  const own = env("MACHINE_BROWSER");
  if (own === "none") return undefined;
  if (own) return [own, url];
  if (!isTerminal || env("CI") || env("SSH_CONNECTION")) return undefined;
  if (os === "windows") return ["rundll32", "url.dll,FileProtocolHandler", url];
  if (os === "darwin") return ["open", url];
  return env("DISPLAY") || env("WAYLAND_DISPLAY") ? ["xdg-open", url] : undefined;
}

/**
 * Opens a page in the person's browser, which continues when this program ends.
 *
 * @returns whether a browser was started
 */
export async function openBrowser(place: BrowserPlace, url: string): Promise<boolean> {
  const command = browserCommand(place, url);
  if (!command) return false;
  const [program, ...args] = command;
  // A group of its own: Ctrl-C is for this program.
  const child = spawn(program, args, { detached: true, stdio: "ignore" });
  const started = await new Promise<boolean>((resolve) => {
    child.once("spawn", () => resolve(true));
    child.once("error", () => resolve(false));
  });
  child.unref();
  return started;
}
