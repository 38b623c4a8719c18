import { pageFor } from "./match.ts";
import type { Page } from "./page.ts";

/** Where the viewer is; changes with the address. */
class Router {
  #pages = $state.raw<readonly Page[]>([]);
  path = $state(location.pathname);
  query = $state.raw(new URLSearchParams(location.search));
  /** The page that the path leads to, and what its places hold. */
  readonly match = $derived(pageFor(this.#pages, this.path));
  #blocked: ((to: string) => boolean) | undefined;

  /**
   * Goes to an address of the console.
   *
   * @param to path with its query
   * @param replace leaves no entry in the history of the browser
   */
  go(to: string, { replace = false } = {}): void {
    const url = new URL(to, location.origin);
    const target = url.pathname + url.search;
    if (url.pathname !== this.path && this.#blocked?.(target)) return;
    if (target === location.pathname + location.search) return;
    if (replace) history.replaceState(null, "", target);
    else history.pushState(null, "", target);
    this.#read();
  }

  /**
   * Changes some of the query and keeps the rest; an empty value takes one away. Replaces the entry
   * in the history, so that typing into a filter leaves no trail; `push` adds one.
   */
  setQuery(values: Readonly<Record<string, string>>, { push = false } = {}): void {
    const query = changed(new URLSearchParams(location.search), values);
    this.go(location.pathname + queryText(query), { replace: !push });
  }

  /** The address of this page with some of its query changed, for a link; as {@link setQuery}. */
  address(values: Readonly<Record<string, string>>): string {
    return this.path + queryText(changed(new URLSearchParams(this.query), values));
  }

  /**
   * Has a page refuse to be left, as long as it holds what is not saved; it asks the viewer then.
   *
   * @param refuse answers true to stay; gets where the viewer wanted to go
   * @returns ends it
   */
  guard(refuse: (to: string) => boolean): () => void {
    this.#blocked = refuse;
    return () => {
      if (this.#blocked === refuse) this.#blocked = undefined;
    };
  }

  /** Follows the address and the clicks on links to these pages; the returned function ends that. */
  start(pages: readonly Page[]): () => void {
    this.#pages = pages;
    const popped = (): void => {
      const to = location.pathname + location.search;
      if (location.pathname !== this.path && this.#blocked?.(to)) {
        history.pushState(null, "", this.path + queryText(this.query));
        return;
      }
      this.#read();
    };
    const clicked = (event: MouseEvent): void => {
      const link = event.target instanceof Element ? event.target.closest("a[href]") : null;
      if (!(link instanceof HTMLAnchorElement) || event.defaultPrevented || event.button !== 0) {
        return;
      }
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      if (link.target !== "" || link.hasAttribute("download") || link.origin !== location.origin) {
        return;
      }
      // An address of the cloud itself, such as a file.
      if (pageFor(this.#pages, link.pathname) === undefined) return;
      if (link.hash !== "") return;
      event.preventDefault();
      this.go(link.pathname + link.search);
    };
    addEventListener("popstate", popped);
    document.addEventListener("click", clicked);
    return () => {
      removeEventListener("popstate", popped);
      document.removeEventListener("click", clicked);
    };
  }

  #read(): void {
    this.path = location.pathname;
    this.query = new URLSearchParams(location.search);
  }
}

function changed(
  query: URLSearchParams,
  values: Readonly<Record<string, string>>,
): URLSearchParams {
  for (const [name, value] of Object.entries(values)) {
    if (value === "") query.delete(name);
    else query.set(name, value);
  }
  return query;
}

function queryText(query: URLSearchParams): string {
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}

export const router = new Router();
