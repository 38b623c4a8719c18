import { type Browser, chromium } from "playwright-core";
import { browserPath } from "./tools.ts";

/**
 * Starts a browser for tests; whoever has it closes it.
 *
 * @param more arguments of Chromium
 */
export async function launchBrowser(...more: readonly string[]): Promise<Browser> {
  const executablePath = browserPath();
  if (executablePath === undefined) throw new Error("there is no Chromium here");
  return await chromium.launch({ executablePath, args: ["--no-sandbox", ...more] });
}
