import assert from "node:assert/strict";
import { checkLinks, entryPath, fileMode } from "./archive_policy.ts";

const limits = { pathBytes: 100 };
const same = (name: string) => name;

Deno.test("entryPath() gives the parts of a path inside the archive", () => {
  assert.deepEqual(entryPath("./bin//run", limits), ["bin", "run"]);
  assert.deepEqual(entryPath("./", limits), []);
  assert.deepEqual(entryPath("a..b/..c/d..", limits), ["a..b", "..c", "d.."]);
});

for (
  const [path, why] of [
    ["/etc/passwd", /is absolute/],
    ["\\\\server\\share", /is absolute/],
    ["C:/x", /is absolute/],
    ["c:x", /is absolute/],
    ["../x", /could leave/],
    ["a/../../x", /could leave/],
    ["a/..", /could leave/],
    ["a\\..\\x", /could leave/],
    ["a\0b", /NUL/],
    ["x".repeat(101), /longer than 100/],
  ] as const
) {
  Deno.test(`entryPath() refuses ${JSON.stringify(path.slice(0, 20))}`, () => {
    assert.throws(() => entryPath(path, limits), (error: Error & { kind?: string }) => {
      assert.equal(error.kind, "refused");
      assert.match(error.message, why);
      return true;
    });
  });
}

Deno.test("checkLinks() takes links that stay inside, also those to nothing yet", () => {
  checkLinks(
    new Map([
      ["lib", "usr/lib"],
      ["usr/bin/python", "./python3.12"],
      ["usr/lib64", "../usr/lib"],
      ["a/b/c/up", "../../.."],
      ["through", "a/b/c/up/usr"],
      ["usr/lib/libz.so", "libz.so.1"],
    ]),
    same,
  );
});

for (
  const [what, links, why] of [
    ["an absolute target", { x: "/etc" }, /is absolute/],
    ["a drive", { x: "C:\\Windows" }, /is absolute/],
    ["too many ..", { "a/x": "../../etc" }, /leads out/],
    ["a way out through a second link", { "a/b/c/up": "../../..", x: "a/b/c/up/../etc" }, /out/],
    ["a way out through a chain", { a: "b", b: "c/..", c: "d/e", "d/e/f": "../../../a" }, /out/],
    ["a circle", { a: "b", b: "a" }, /circle/],
    ["itself", { a: "a/x" }, /circle/],
    ["backslashes", { "d/x": "..\\..\\etc" }, /not allowed/],
  ] as const
) {
  Deno.test(`checkLinks() refuses ${what}`, () => {
    assert.throws(() => checkLinks(new Map(Object.entries(links)), same), why);
  });
}

Deno.test("checkLinks() refuses a target that is longer than any path", () => {
  const links = new Map([["x", "a/".repeat(2_049)]]);
  assert.throws(() => checkLinks(links, same), /longer than 4096 characters/);
});

Deno.test("checkLinks() refuses links that lead to a path longer than any", () => {
  const links = new Map([["x", `y/${"a/".repeat(1_500)}`], ["y", "b/".repeat(1_500)]]);
  assert.throws(() => checkLinks(links, same), /too long/);
});

Deno.test("checkLinks() does not follow the links of an archive without end", () => {
  // Each leads through the next 40, and on for some thousand folders.
  let lookups = 0;
  const counting = (name: string) => (lookups++, name);
  const links = new Map(
    Array.from({ length: 2_000 }, (_, at) => [
      `l${at}`,
      at % 39 === 38 ? "a" : `l${at + 1}/${"b/../".repeat(800)}`,
    ]),
  );
  assert.throws(() => checkLinks(links, counting), /take too long to follow/);
  assert.ok(lookups < 5_000_000, `${lookups} paths were looked up`);
});

Deno.test("checkLinks() follows as many links as a large package has", () => {
  const links = new Map(
    Array.from({ length: 100_000 }, (_, at) => [
      `node_modules/.pnpm/package-${at}@1.2.3/node_modules/package`,
      `../../package-${at + 1}@1.2.3/lib/package`,
    ]),
  );
  checkLinks(links, same);
});

Deno.test("checkLinks() follows a link by another spelling where the file system does", () => {
  const links = new Map([["a/b/c/UP", "../../.."], ["x", "a/b/c/up/../etc"]]);
  checkLinks(links, same);
  assert.throws(() => checkLinks(links, (name) => name.toLowerCase()), /leads out/);
});

Deno.test("fileMode() keeps programs runnable and drops what gives power", () => {
  assert.equal(fileMode(0o4755), 0o755);
  assert.equal(fileMode(0o6777), 0o755);
  assert.equal(fileMode(0o1000), 0o600);
  assert.equal(fileMode(0o444), 0o644);
  assert.equal(fileMode(undefined), 0o644);
});
