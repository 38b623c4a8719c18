/**
 * A controller of one's own that also aborts with `parent`. Abort it when done: that unties it
 * from the parent.
 *
 * @param limitMs after which it aborts without its parent; left out: never
 *
 * In place of `AbortSignal.any`, whose signals some runtimes collect while somebody still waits on
 * them (seen on Deno 2.7.11 and 2.9.6: an idle stream did not end, a watch outlived its limit).
 */
export function linkedController(parent: AbortSignal, limitMs?: number): AbortController {
  const controller = new AbortController();
  const follow = () => controller.abort(parent.reason);
  if (parent.aborted) follow();
  else {
    parent.addEventListener("abort", follow, { once: true });
    const untie = () => parent.removeEventListener("abort", follow);
    controller.signal.addEventListener("abort", untie, { once: true });
  }
  if (limitMs !== undefined && !controller.signal.aborted) {
    const late = () => controller.abort(new DOMException("it took too long", "TimeoutError"));
    const timer = setTimeout(late, limitMs);
    controller.signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  }
  return controller;
}
