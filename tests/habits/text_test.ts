import assert from "node:assert/strict";
import { join } from "node:path";
import { staleFiles } from "../../tools/proto/generate.ts";
import { ROOT } from "../../tools/programs.ts";
import { GROUPS } from "../../tools/test/groups.ts";
import { readSources, type Source } from "./sources.ts";

const sources = await readSources();
const CODE = /\.(ts|sh|py|js|css|html)$|^bin\/|^\.ci\/|Makefile$/;
const code = sources.filter(({ path }) => CODE.test(path));

/** Lines of files that match, as `path:line`. */
function linesWith(files: readonly Source[], pattern: RegExp): string[] {
  return files.flatMap(({ path, text }) =>
    text.split("\n").flatMap((line, i) => pattern.test(line) ? [`${path}:${i + 1}`] : [])
  );
}

Deno.test("generated code is what proto/ gives", async () => {
  assert.deepEqual(await staleFiles(ROOT), []);
});

Deno.test("a file of code has at most 500 lines", () => {
  const long = sources.filter(({ path }) => CODE.test(path) || /\.(svelte|c|h)$/.test(path))
    .map(({ path, text }) => ({ path, lines: text.split("\n").length - 1 }))
    .filter(({ lines }) => lines > 500);
  assert.deepEqual(long, []);
});

Deno.test("every folder with tests is run by make test, or by a target of its own", () => {
  const own = ["tests/build", "tests/training", "tests/upgrade"];
  const ran = [...GROUPS.flatMap(({ paths }) => paths), ...own].map((path) => `${path}/`);
  const left = sources.map(({ path }) => path)
    .filter((path) => path.endsWith("_test.ts") && !ran.some((start) => path.startsWith(start)));
  assert.deepEqual(left, []);
});

Deno.test("no file names the host of a package registry", () => {
  // In parts, so that this file does not name them itself.
  const hosts = [
    ["registry", "npmjs"],
    ["registry", "yarnpkg"],
    ["pypi", "org"],
    ["files", "pythonhosted"],
    ["jsr", "io"],
    ["proxy", "golang"],
  ].map((parts) => parts.join("\\."));
  assert.deepEqual(linesWith(sources, new RegExp(hosts.join("|"), "i")), []);
});

Deno.test("no file holds the path of a checkout or of someone's home", () => {
  const root = ROOT.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const home = ["/home", "/Users"].map((dir) => `${dir}/[a-z][a-z0-9_-]+/`).join("|");
  assert.deepEqual(linesWith(sources, new RegExp(`${root}/|${home}`)), []);
});

Deno.test("no code says that it is not finished", () => {
  const marks = ["TO" + "DO", "FIX" + "ME", "HA" + "CK"].join("|");
  assert.deepEqual(linesWith(code, new RegExp(`\\b(${marks})\\b`)), []);
});

/** Coined words, and the field's own, which people search logs, code and docs for. */
const COINED: Readonly<Record<string, string>> = {
  "told": "notified, reported, sent",
  "tells": "notifies, reports, shows",
  "hears?|heard": "receives, learns",
  "goes on|go on": "continues, resumes",
  "by itself|by themselves": "automatically, on its own",
  "asked for": "requested",
  "anew": "again; restarted, rebuilt",
  "beside": "next to, alongside, in addition to",
  "ought": "should",
  "mends|mended": "fixes, fixed",
  "borne": "tolerated",
  "for ever": "permanently",
  "(this|its) computer": "this host",
  "time (is|was) over": "deadline exceeded, expired",
  "(is|are|was|were|be|been) (?:ended|given up)": "exits, stops, is cancelled; is abandoned, fails",
  "(give|gives|gave) up": "stop retrying, abandon, fail",
  "your computer": "your host",
  "(?<![</-])pictures?": "image, frame, screenshot",
};
/** The console's word for people, and its tests'. */
const PHOTOS = /^(console|tests\/console)\/|^docs\/console\.md$/;
const COINED_WORD = new RegExp(`\\b(${Object.keys(COINED).join("|")})\\b`, "i");

/** Names in code are no prose. */
const withoutCode = (text: string) => text.replaceAll(/`[^`]*`|\{@link [^}]*\}|@param \w+/g, "");

/** The prose of a line: a comment; in programs also strings of several words. */
function proseOf(line: string, isProgram: boolean): string {
  const comment = /^\s*(?:\/?\*\*?|\/\/)(.*)/.exec(line)?.[1] ?? / \/\/ (.*)/.exec(line)?.[1] ?? "";
  const strings = isProgram ? line.match(/"[^"]* [^"]*"|`[^`]* [^`]*`/g) ?? [] : [];
  return [withoutCode(comment), ...strings].join("\n");
}

Deno.test("comments, messages and docs use the field's words", () => {
  const found = sources.flatMap(({ path, text }) => {
    // What people read in a form or a page has words of its own.
    const isProgram =
      !/_test\.ts$|testing\.ts$|\/fake_|^(tests|console|cli)\/|\/(portal|web_session)\//.test(
        path,
      );
    const isCode = /\.(ts|proto)$/.test(path) && path !== "tests/habits/text_test.ts";
    const isDoc = path.endsWith(".md") && path !== "CHANGELOG.md";
    if (!isCode && !isDoc) return [];
    const prose = isDoc
      ? text.replaceAll(/```.*?```/gs, (block) => block.replaceAll(/[^\n]/g, "")).split("\n")
        .map(withoutCode)
      : text.split("\n").map((line) => proseOf(line, isProgram));
    return prose.flatMap((line, i) => {
      const word = COINED_WORD.exec(line)?.[0];
      if (word === undefined || (/^picture/i.test(word) && PHOTOS.test(path))) return [];
      const [, better] = Object.entries(COINED)
        .find(([pattern]) => new RegExp(`^(${pattern})$`, "i").test(word)) ?? [];
      return [`${path}:${i + 1}: "${word}": write ${better}`];
    });
  });
  assert.deepEqual(found, []);
});

Deno.test("docs/log-events.md lists the events of log lines, and no others", () => {
  const names = new Set(
    code.filter(({ path }) => /^(agent|server|shared|cloud)\/.*(?<!_test|testing)\.ts$/.test(path))
      .flatMap(({ text }) => [...text.matchAll(/\bevent(?:: | = )"([a-z]+(?:_[a-z]+)+)"/g)])
      .flatMap(([, name]) => name ?? []),
  );
  const page = sources.find(({ path }) => path === "docs/log-events.md")?.text ?? "";
  const listed = [...page.matchAll(/^\| `([a-z_]+)`/gm)].flatMap(([, name]) => name ?? []);
  assert.deepEqual(listed.toSorted(), [...names].toSorted());
});

/** A call that logs an error, by a logger of any name. */
const ERROR_CALL = /\b(?:\w*[lL]og(?:ger)?|getLogger\([^)]*\))\??\.error\(/g;

/** What stands between the parenthesis that is open before `start` and the one that closes it. */
function argumentsAt(text: string, start: number): string {
  let depth = 1;
  let quote = "";
  for (let at = start; at < text.length; at++) {
    const letter = text[at]!;
    if (quote !== "") {
      if (letter === "\\") at++;
      else if (letter === quote) quote = "";
    } else if (`"'\``.includes(letter)) quote = letter;
    else if ("([{".includes(letter)) depth++;
    else if (")]}".includes(letter) && --depth === 0) return text.slice(start, at);
  }
  return text.slice(start);
}

Deno.test("every line at level ERROR has an event to alert on", () => {
  const programs = code.filter(({ path }) =>
    /^(agent|server|shared|cloud)\/.*(?<!_test|testing)\.ts$/.test(path) &&
    !path.startsWith("shared/test_tools/")
  );
  const calls = programs.flatMap(({ path, text }) =>
    [...text.matchAll(ERROR_CALL)].map((call) => ({
      at: `${path}:${text.slice(0, call.index).split("\n").length}`,
      given: argumentsAt(text, call.index + call[0].length),
    }))
  );
  assert.ok(calls.length > 100, "the calls are found");
  const without = calls.filter(({ given }) => !/\bevent\b/.test(given)).map(({ at }) => at);
  assert.deepEqual(without, []);
});

Deno.test("type checks are not switched off", () => {
  const ways = ["@ts-" + "ignore", "@ts-" + "nocheck"].join("|");
  assert.deepEqual(
    linesWith(code.filter(({ path }) => path.endsWith(".ts")), new RegExp(ways)),
    [],
  );
});

Deno.test("scripts can be run", async () => {
  const scripts = code.filter(({ path, text }) => text.startsWith("#!") && !path.endsWith(".ts"));
  const wrong: string[] = [];
  for (const { path } of scripts) {
    const { mode } = await Deno.stat(join(ROOT, path));
    if (Deno.build.os !== "windows" && ((mode ?? 0) & 0o111) === 0) wrong.push(path);
  }
  assert.deepEqual(wrong, []);
});
