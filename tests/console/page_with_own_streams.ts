import type { ConsolePage, ConsoleRig } from "./console_rig.ts";

/**
 * A window that shares no streams with others, as on a phone: tests see no calls of a worker.
 *
 * @param path left out: nothing is opened yet.
 */
export async function ownStreams(rig: ConsoleRig, path?: string): Promise<ConsolePage> {
  const opened = await rig.page();
  await opened.context.addInitScript("delete globalThis.SharedWorker");
  const { api_key_id: id, api_key: key } = rig.made;
  await opened.keepKey(await rig.tokenFor("api-key", id, key), id);
  if (path !== undefined) await opened.go(path);
  return opened;
}
