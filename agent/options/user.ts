import { PROGRAM } from "./options.ts";

/**
 * The agent changes the system, so it runs as root, except for development.
 *
 * @param uid of this process; null where the system has none.
 * @throws {Error} one line for the operator
 */
export function checkUser({ devMode }: { devMode: boolean }, uid: number | null): void {
  if (devMode || uid === null || uid === 0) return;
  throw new Error(
    `${PROGRAM} must run as root, because it manages this host; start it with sudo, ` +
      "or for development with --dev-mode",
  );
}
