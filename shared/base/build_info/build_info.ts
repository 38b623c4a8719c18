/**
 * What the running program knows about how it was built.
 *
 * A program runs in three forms: the TypeScript modules as they stand (tests, tools), one bundled
 * module (`bin/`), or that bundle inside a compiled binary (`dist/`). The bundler puts a
 * {@link BuildStamp} in place of `MACHINE_BUILD_STAMP`; without one we are running the modules.
 */
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import manifest from "../../../deno.json" with { type: "json" };

/** What `tools/bundle.ts` writes into a bundle. */
export interface BuildStamp {
  /** Semantic version without a leading `v`, for example `0.1.0` or `0.2.0-4-gabc1234`. */
  readonly version: string;
  /** Short git commit, with `-dirty` when files differed from it; `unknown` outside a repository. */
  readonly commit: string;
}

export interface BuildInfo {
  /** Semantic version, no `v`. */
  readonly version: string;
  /** Short git commit; `source` when the modules run as they stand. */
  readonly commit: string;
  /** True inside a `deno compile` binary. */
  readonly compiled: boolean;
  /** Path of the SQLite addon next to a bundle; undefined when the package finds its own. */
  readonly nativeSqlite: string | undefined;
  /**
   * Folder that holds static files.
   *
   * @param name folder relative to the calling module, for example `web` or `../web`. In a bundle
   * the folder stands next to the bundle under its last part (`web`).
   * @param sourceUrl `import.meta.url` of the calling module.
   * @returns an absolute path, readable with the ordinary file functions in every form.
   */
  assetsDir(name: string, sourceUrl: string): string;
}

declare const MACHINE_BUILD_STAMP: BuildStamp | undefined;

const stamp = typeof MACHINE_BUILD_STAMP === "undefined" ? undefined : MACHINE_BUILD_STAMP;

/** Builds the info from a stamp; `bundleDir` is the folder of the bundled module. */
export function describeBuild(
  stamp: BuildStamp | undefined,
  bundleDir: string,
  standalone: boolean,
): BuildInfo {
  return {
    version: stamp?.version ?? manifest.version,
    commit: stamp?.commit ?? "source",
    compiled: standalone,
    nativeSqlite: stamp && join(bundleDir, "better_sqlite3.node"),
    assetsDir: (name, sourceUrl) =>
      stamp ? join(bundleDir, basename(name)) : fileURLToPath(new URL(name, sourceUrl)),
  };
}

/** The build this process runs. */
export const buildInfo: BuildInfo = describeBuild(
  stamp,
  import.meta.dirname ?? ".",
  Deno.build.standalone,
);

/** What `-version` prints, for example `machine-server 0.1.0 (commit abc1234)`. */
export function versionText(program: string, build: BuildInfo = buildInfo): string {
  return `${program} ${build.version} (commit ${build.commit})`;
}
