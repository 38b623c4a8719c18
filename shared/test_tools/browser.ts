import { type Browser, chromium } from "playwright-core";
import { browserPath } from "./tools.ts";

/**
 * Of a process for graphics that starves on a busy host: Chromium kills one that does nothing for 10
 * s, and ends itself when that happened a few times ("GPU process isn't usable. Goodbye.").
 */
const PATIENT = ["--disable-gpu-watchdog", "--disable-gpu-process-crash-limit"];

/**
 * Starts a browser for tests; whoever has it closes it.
 *
 * @param more arguments of Chromium
 */
export async function launchBrowser(...more: readonly string[]): Promise<Browser> {
  const executablePath = browserPath();
  if (executablePath === undefined) throw new Error("there is no Chromium here");
  return await chromium.launch({ executablePath, args: ["--no-sandbox", ...PATIENT, ...more] });
}
