/**
 * A controller of one's own that also aborts with `parent`. Abort it when done: that unties it
 * from the parent.
 *
 * In place of `AbortSignal.any`, whose signals some runtimes collect while somebody still waits on
 * them (seen on Deno 2.7.11: an idle stream did not end).
 */
export function linkedController(parent: AbortSignal): AbortController {
  const controller = new AbortController();
  const follow = () => controller.abort(parent.reason);
  if (parent.aborted) follow();
  else {
    parent.addEventListener("abort", follow, { once: true });
    const untie = () => parent.removeEventListener("abort", follow);
    controller.signal.addEventListener("abort", untie, { once: true });
  }
  return controller;
}
