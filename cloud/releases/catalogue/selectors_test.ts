import assert from "node:assert/strict";
import { parseSelector, selectorsOf, withoutSecrets } from "./selectors.ts";

const HASH = "AB".repeat(32);

Deno.test("parseSelector() knows channels, versions, ranges and addresses from one another", () => {
  const cases: [value: unknown, selector: object][] = [
    [undefined, { kind: "channel", channel: "stable", isDefault: true }],
    ["", { kind: "channel", channel: "stable", isDefault: true }],
    ["stable", { kind: "channel", channel: "stable", isDefault: false }],
    [" dev ", { kind: "channel", channel: "dev", isDefault: false, asked: "dev" }],
    ["1.2.3", { kind: "exact", version: "1.2.3" }],
    ["v1.2.3", { kind: "exact", version: "1.2.3", asked: "v1.2.3" }],
    ["1.2.3-rc.1", { kind: "exact", version: "1.2.3-rc.1" }],
    ["^1.2", { kind: "range", range: "^1.2" }],
    [">=1.2 <2", { kind: "range", range: ">=1.2 <2" }],
    ["http://x/y", { kind: "address", url: "http://x/y", sha256: "" }],
    ["file:///opt/s", { kind: "address", url: "file:///opt/s", asked: "file:///opt/s" }],
    [
      `https://u:p@x/y?token=1#sha256=${HASH}`,
      {
        kind: "address",
        url: "https://u:p@x/y?token=1",
        sha256: HASH.toLowerCase(),
        asked: "https://x/y",
      },
    ],
    ["https://x/y#md5=1", { kind: "wrong", asked: "https://x/y" }],
    ["newest", { kind: "wrong", asked: "newest" }],
    ["ftp://x/y", { kind: "wrong" }],
    [5, { kind: "wrong", asked: "5" }],
  ];
  for (const [value, wanted] of cases) {
    const selector: object = parseSelector(value as string);
    for (const [name, field] of Object.entries(wanted)) {
      assert.equal(selector[name as keyof typeof selector], field, `${value} ${name}`);
    }
  }
});

Deno.test("selectorsOf() reads both programs, the other name of the server, and tags", () => {
  const selectors = selectorsOf({
    agent: {
      tags: ["canary", 5],
      version_control: { "agent": "dev", "viam-server": "1.2.3" },
    },
  });
  assert.equal(selectors.byProgram["machine-agent"].asked, "dev");
  assert.equal(selectors.byProgram["machine-server"].asked, "1.2.3");
  assert.deepEqual(selectors.tags, ["canary"]);
  for (const config of [{}, { agent: [] }, { agent: { version_control: 5, tags: "a" } }]) {
    const { byProgram, tags } = selectorsOf(config);
    assert.equal(byProgram["machine-server"].asked, "stable");
    assert.deepEqual(tags, []);
  }
});

Deno.test("withoutSecrets() leaves only the place of an address", () => {
  assert.equal(withoutSecrets("https://u:p@h:1/a/b?key=1#x"), "https://h:1/a/b");
  assert.equal(withoutSecrets("customURL+https://u:p@h/a?key=1"), "customURL+https://h/a");
  assert.equal(withoutSecrets("1.2.3"), "1.2.3");
});
