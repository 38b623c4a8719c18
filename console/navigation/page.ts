import type { Component } from "svelte";
import type { Text } from "../texts/text.ts";
import type { Routed } from "./match.ts";

/** What a page gets: the places of its path. */
export interface PageProps {
  readonly places: Readonly<Record<string, string>>;
}

/** A page of the console. */
export interface Page extends Routed {
  /** `/machines/:machine/:tab?`; a place with `?` may be left out. */
  readonly path: string;
  readonly title: Text;
  /** Stands in the main navigation with this icon; left out: it does not. */
  readonly icon?: Component;
  /** The entry of the navigation that is marked on this page; left out: its own. */
  readonly under?: string;
  /** Loaded when the page is opened for the first time. */
  readonly load: () => Promise<
    { readonly default: Component<PageProps> | Component<Record<string, never>> }
  >;
}
