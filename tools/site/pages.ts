import { posix } from "node:path";

/** What a site is made of: texts of pages by path, and other files that they link to. */
export interface SiteSources {
  /** `docs/api.md` */
  readonly pages: ReadonlyMap<string, string>;
  /** Paths of files that are copied as they are: `docs/console/fleet-dark.webp`. */
  readonly files: readonly string[];
}

/** Pages of the repository that are no part of docs/. */
const TOP = /^([A-Z_]+|console\/README)\.md$/;

/** Whether a file of the repository is a page of the site. */
function isPage(path: string): boolean {
  return /^docs\/[^/]+\.md$/.test(path) || TOP.test(path);
}

/**
 * Prepares the pages. Links between pages stay as they are; a file that is linked to is copied; what
 * cannot be served, a folder or a hidden file, is no link any more.
 *
 * @param paths all files of the repository
 * @param read gives the text of a page
 */
export async function siteSources(
  paths: readonly string[],
  read: (path: string) => Promise<string>,
): Promise<SiteSources> {
  const there = new Set(paths);
  const pages = new Map<string, string>();
  const files = new Set(paths.filter((path) => path.startsWith("docs/console/")));
  for (const path of paths.filter(isPage)) {
    const link = (target: string): boolean => {
      const [file = ""] = target.split("#");
      const to = posix.join(posix.dirname(path), file);
      if (file === "" || isPage(to)) return true;
      if (!there.has(to) || !/^[^.].*\.[a-z]+$/.test(to)) return false;
      files.add(to);
      return true;
    };
    pages.set(path, withoutLinks(await read(path), link));
  }
  return { pages, files: [...files].sort() };
}

/** Leaves of a link to this repository its text, unless `keep` says it stays. */
export function withoutLinks(text: string, keep: (target: string) => boolean): string {
  return outsideCode(text, (part) =>
    part.replaceAll(
      /(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)/g,
      (all, image: string, label: string, target: string) =>
        image !== "" || /^[a-z]+:/.test(target) || keep(target) ? all : label,
    ));
}

/** Changes the parts of a text that are no blocks of code. */
function outsideCode(text: string, change: (part: string) => string): string {
  return text.split(/(^ *```[^]*?^ *```$)/m).map((part, at) => at % 2 === 0 ? change(part) : part)
    .join("");
}

/** Title of a page: its first heading. */
export function titleOf(text: string): string {
  return /^# (.+)$/m.exec(text)?.[1]?.replaceAll("`", "") ?? "";
}

export interface MenuGroup {
  readonly text: string;
  readonly items: readonly { readonly text: string; readonly link: string }[];
}

/** The page that lists the others in groups. */
const INDEX = "docs/README.md";

/** The menu at the side: the groups of `docs/README.md`; what it does not link to comes last. */
export function menu(pages: ReadonlyMap<string, string>): MenuGroup[] {
  const item = (path: string) => (
    { text: titleOf(pages.get(path) ?? ""), link: `/${path.replace(/\.md$/, "")}` }
  );
  const groups = (pages.get(INDEX) ?? "").split(/^## /m).slice(1).map((section) => ({
    text: /.*/.exec(section)?.[0] ?? "",
    paths: [...section.matchAll(/\]\(([^()#\s]+\.md)\)/g)].map(([, name = ""]) => `docs/${name}`)
      .filter((path) => pages.has(path)),
  }));
  const listed = new Set(groups.flatMap(({ paths }) => paths));
  const others = [...pages.keys()].filter((path) => !listed.has(path)).sort();
  return [
    ...groups.map(({ text, paths }) => ({ text, items: paths.map(item) })),
    { text: "The project", items: others.map(item) },
  ];
}
