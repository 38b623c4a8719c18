import assert from "node:assert/strict";
import type { KnownRelease, KnownRollout } from "./known_release.ts";
import { type AskingPart, resolve } from "./resolve.ts";
import { parseSelector } from "./selectors.ts";

type Release = Partial<Omit<KnownRelease, "rollout">> & {
  readonly platforms?: readonly string[];
  readonly rollout?: Partial<KnownRollout>;
};

/** A release on stable for linux/amd64, withdrawn or rolled out where it says so. */
function release(version: string, { platforms, rollout, ...fields }: Release = {}): KnownRelease {
  return {
    id: `id of ${version}`,
    program: "machine-server",
    version,
    channel: "stable",
    notes: "",
    addedAtMs: 0,
    withdrawnAtMs: undefined,
    goesBack: false,
    files: (platforms ?? ["linux/amd64"]).map((platform) => ({
      id: `${version} ${platform}`,
      platform,
      size: 1,
      sha256: "",
      signature: "",
      keyId: "",
      addedAtMs: 0,
    })),
    ...fields,
    rollout: rollout && {
      percent: 0,
      tags: [],
      state: "running",
      reason: "",
      stopPercent: 10,
      stopMinimum: 1,
      changedAtMs: 0,
      countedSinceMs: 0,
      ...rollout,
    },
  };
}

interface Case {
  readonly what: string;
  readonly asked?: string;
  readonly there: readonly KnownRelease[];
  readonly part?: Partial<AskingPart>;
  /** The version, or `keep`, or a part of the problem. */
  readonly gives: string | RegExp;
  readonly heldBack?: RegExp;
}

const TABLE: readonly Case[] = [
  { what: "a cloud without releases, nothing asked", there: [], gives: "keep" },
  { what: "a cloud without releases, stable asked", asked: "stable", there: [], gives: /no rel/ },
  {
    what: "the highest on stable",
    there: [release("1.2.0"), release("1.10.0"), release("1.9.0")],
    gives: "1.10.0",
  },
  {
    what: "stable does not see dev",
    there: [release("1.0.0"), release("2.0.0", { channel: "dev" })],
    gives: "1.0.0",
  },
  {
    what: "dev sees both channels",
    asked: "dev",
    there: [release("1.0.0"), release("1.0.0-dev.1", { channel: "dev" })],
    gives: "1.0.0",
  },
  {
    what: "another program's releases",
    asked: "stable",
    there: [release("1.0.0", { program: "machine-agent" })],
    gives: /no release of machine-server on channel stable/,
  },
  {
    what: "the newest has no file for the platform",
    there: [release("1.0.0"), release("1.1.0", { platforms: ["linux/arm64"] })],
    gives: "1.0.0",
  },
  {
    what: "no file for the platform at all",
    there: [release("1.0.0", { platforms: ["linux/arm64"] })],
    gives: /no release of machine-server on channel stable for linux\/amd64/,
  },
  {
    what: "a machine that tells no platform",
    there: [release("1.0.0")],
    part: { platform: "" },
    gives: /not reported its platform/,
  },
  {
    what: "a range",
    asked: "^1.2",
    there: [release("1.1.0"), release("1.2.5"), release("2.0.0")],
    gives: "1.2.5",
  },
  {
    what: "a range that nothing fits",
    asked: "^3.1",
    there: [release("1.1.0")],
    gives: /no release of machine-server that \^3\.1 allows/,
  },
  { what: "an exact version", asked: "1.0.0", there: [release("1.0.0")], gives: "1.0.0" },
  {
    what: "an exact version on dev, while rolled out to nobody",
    asked: "1.0.0",
    there: [release("1.0.0", { channel: "dev", rollout: { state: "stopped" } })],
    gives: "1.0.0",
  },
  {
    what: "a lower exact version than the machine runs",
    asked: "1.0.0",
    there: [release("1.0.0"), release("2.0.0")],
    part: { installed: "2.0.0" },
    gives: "1.0.0",
  },
  {
    what: "an unknown exact version",
    asked: "9.9.9",
    there: [release("1.0.0"), release("1.1.0"), release("1.2.0", { withdrawnAtMs: 1 })],
    gives: /no release 9\.9\.9 of machine-server; there is 1\.1\.0, 1\.0\.0$/,
  },
  {
    what: "an exact version without a file",
    asked: "1.0.0",
    there: [release("1.0.0", { platforms: ["linux/arm64", "windows/amd64"] })],
    gives: /1\.0\.0 of machine-server has no file for linux\/amd64; it has linux\/arm64, windows/,
  },
  {
    what: "an exact version that was withdrawn",
    asked: "1.0.0",
    there: [release("1.0.0", { withdrawnAtMs: 1, goesBack: true }), release("0.9.0")],
    gives: /release 1\.0\.0 of machine-server was withdrawn/,
  },
  { what: "what is no version", asked: "newest", there: [release("1.0.0")], gives: /no version/ },
  {
    what: "a withdrawn release",
    there: [release("1.0.0"), release("1.1.0", { withdrawnAtMs: 1 })],
    gives: "1.0.0",
  },
  {
    what: "a withdrawn release that the machine runs",
    there: [release("1.0.0"), release("1.1.0", { withdrawnAtMs: 1 })],
    part: { installed: "1.1.0" },
    gives: "keep",
    heldBack: /1\.1\.0 was withdrawn; the machine keeps it/,
  },
  {
    what: "a withdrawn release that the machine runs, with a newer one",
    there: [release("1.1.0", { withdrawnAtMs: 1 }), release("1.2.0")],
    part: { installed: "1.1.0" },
    gives: "1.2.0",
  },
  {
    what: "a release withdrawn to go back from",
    there: [release("1.0.0"), release("1.1.0", { withdrawnAtMs: 1, goesBack: true })],
    part: { installed: "1.1.0" },
    gives: "1.0.0",
  },
  {
    what: "a release withdrawn to go back from, and none before",
    there: [release("1.1.0", { withdrawnAtMs: 1, goesBack: true })],
    part: { installed: "1.1.0" },
    gives: /no release of machine-server on channel stable/,
  },
  {
    what: "a rollout that has not come here",
    there: [release("1.0.0"), release("1.1.0", { rollout: { percent: 0 } })],
    gives: "1.0.0",
    heldBack: /1\.1\.0 has not come to this machine yet/,
  },
  {
    what: "a rollout to all",
    there: [release("1.0.0"), release("1.1.0", { rollout: { percent: 100 } })],
    gives: "1.1.0",
  },
  {
    what: "a rollout to a tag of the machine",
    there: [release("1.0.0"), release("1.1.0", { rollout: { tags: ["a", "canary"] } })],
    part: { tags: ["canary"] },
    gives: "1.1.0",
  },
  {
    what: "a rollout to another tag",
    there: [release("1.0.0"), release("1.1.0", { rollout: { tags: ["canary"] } })],
    part: { tags: ["canary-2"] },
    gives: "1.0.0",
    heldBack: /not come/,
  },
  {
    what: "a paused rollout to all",
    there: [release("1.0.0"), release("1.1.0", { rollout: { percent: 100, state: "paused" } })],
    gives: "1.0.0",
    heldBack: /the rollout of 1\.1\.0 is paused/,
  },
  {
    what: "a stopped rollout of what the machine runs",
    there: [
      release("1.0.0"),
      release("1.1.0", { rollout: { percent: 100, state: "stopped", reason: "too bad" } }),
    ],
    part: { installed: "1.1.0" },
    gives: "1.1.0",
  },
  {
    what: "a stopped rollout",
    there: [
      release("1.0.0"),
      release("1.1.0", { rollout: { percent: 100, state: "stopped", reason: "too bad" } }),
    ],
    gives: "1.0.0",
    heldBack: /the rollout of 1\.1\.0 was stopped: too bad/,
  },
  {
    what: "the only release, which has not come here",
    there: [release("1.1.0", { rollout: { percent: 0 } })],
    gives: "keep",
    heldBack: /1\.1\.0 has not come/,
  },
  {
    what: "a machine that runs ahead of its rollout",
    there: [release("1.0.0"), release("1.1.0", { rollout: { percent: 0 } }), release("0.9.0")],
    part: { installed: "1.1.0" },
    gives: "1.1.0",
  },
  {
    what: "a machine that runs a dev release and now follows stable",
    there: [release("1.0.0"), release("2.0.0", { channel: "dev" })],
    part: { installed: "2.0.0" },
    gives: "1.0.0",
  },
  {
    what: "a machine that runs what nobody knows",
    there: [release("1.0.0")],
    part: { installed: "customURL+file:///x" },
    gives: "1.0.0",
  },
];

for (const { what, asked, there, part, gives, heldBack } of TABLE) {
  Deno.test(`resolve() gives ${gives} when given: ${what}`, () => {
    const asking = { id: "p", tags: [], platform: "linux/amd64", installed: "", ...part };
    const found = resolve("machine-server", parseSelector(asked), there, asking);
    assert.notEqual(found.kind, "address");
    if (found.kind === "address") return;
    if (gives instanceof RegExp) {
      assert.ok(found.kind === "nothing");
      assert.match(found.problem, gives);
    } else if (gives === "keep") {
      assert.deepEqual([found.kind, "problem" in found && found.problem], ["nothing", ""]);
    } else {
      assert.ok(found.kind === "release", "problem" in found ? found.problem : "");
      assert.equal(found.release.version, gives);
      assert.equal(found.file.platform, "linux/amd64");
      assert.equal(found.pinned, /^\d/.test(asked ?? ""));
    }
    assert.match(found.heldBack, heldBack ?? /^$/);
  });
}

Deno.test("resolve() hands on addresses, also where there are no releases", () => {
  const part = { id: "p", tags: [], platform: "", installed: "" };
  const sha256 = "0".repeat(64);
  assert.deepEqual(
    resolve("machine-agent", parseSelector(`https://x/y#sha256=${sha256}`), [], part),
    {
      kind: "address",
      url: "https://x/y",
      sha256,
    },
  );
});
