import { configurations } from "../../../api/clients.ts";
import { toasts } from "../../../design/toasts.svelte.ts";
import { common } from "../../../texts/common.ts";
import { configure as words } from "../../../texts/configure.ts";
import { say } from "../../../texts/say.svelte.ts";
import type { OpenMachine } from "../machine.svelte.ts";

const LOOK_EVERY_MS = 500;
const FOLLOWED_MS = 60_000;

/**
 * Shows, after a save, whether the machine applied it or why not, with a button that takes it back.
 * A machine that is offline applies it later: then only that it is saved.
 */
export function followRevision(
  machine: OpenMachine,
  partId: string,
  undo: () => Promise<void>,
): void {
  const about = say(words.configurationOf, { name: machine.robot?.name ?? "" });
  const action = { text: say(common.undo), about, run: undo };
  if (!machine.live?.online) {
    toasts.show({ text: say(words.saved), kind: "good", action });
    return;
  }
  const before = machine.live.configError;
  const toast = toasts.show({ text: say(words.applying), kind: "neutral", action, stays: true });
  const until = performance.now() + FOLLOWED_MS;
  const done = (text: string, kind: "good" | "bad" | "neutral") => {
    clearInterval(timer);
    toasts.show({ text, kind, action }, toast);
  };
  let wanted: string | undefined;
  void configurations.listRevisions({ partId, pageLimit: 1n }).then(
    ({ revisions }) => (wanted = revisions[0]?.revision),
    () => done(say(words.saved), "good"),
  );
  const timer = setInterval(() => {
    const { live } = machine;
    if (wanted !== undefined && live?.status?.config?.revision === wanted) {
      done(say(words.applied), "good");
    } else if (live && live.configError !== "" && live.configError !== before) {
      done(say(words.notApplied, { why: live.configError }), "bad");
    } else if (performance.now() > until) done(say(words.saved), "neutral");
  }, LOOK_EVERY_MS);
}
