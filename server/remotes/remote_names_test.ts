import assert from "node:assert/strict";
import {
  LONGEST_HEADER,
  machinesHeader,
  MOST_RESOURCES,
  prefixed,
  remoteListing,
} from "./remote_names.ts";

const sensor = (name: string) => ({
  namespace: "rdk",
  type: "component",
  subtype: "sensor",
  name,
});
const options = { remote: "r", prefix: "", ownId: "me", machines: "" };

Deno.test("remoteListing() names resources behind the remote, with its prefix", () => {
  const { resources } = remoteListing([sensor("s"), sensor("x:s")], { ...options, prefix: "p-" });
  assert.deepEqual(resources.map(({ ours, theirs }) => [ours, theirs]), [
    ["r:p-s", "s"],
    ["r:x:p-s", "x:s"],
  ]);
});

Deno.test("remoteListing() takes each name once, and leaves out what cannot be used", () => {
  const all = [sensor("s"), sensor("s"), sensor(""), sensor("a/b"), sensor("n".repeat(401))];
  const { resources, notes } = remoteListing(all, options);
  assert.deepEqual(resources.map(({ ours }) => ours), ["r:s"]);
  assert.match(notes.join(), /3 of its resources have names that cannot be used/);
});

Deno.test("remoteListing() leaves out names that draw on a terminal, and APIs without end", () => {
  const all = [
    sensor("s"),
    sensor("a\u001b[2Jb"),
    sensor("a\nERROR b"),
    { ...sensor("long"), namespace: "n".repeat(1_000_000) },
    { ...sensor("odd"), subtype: "sensor/x" },
    { ...sensor("line"), type: "component\n" },
  ];
  const { resources, notes } = remoteListing(all, options);
  assert.deepEqual(resources.map(({ ours }) => ours), ["r:s"]);
  assert.match(notes.join(), /5 of its resources have names that cannot be used/);
});

Deno.test("remoteListing() takes so many resources and says what to do with more", () => {
  const all = Array.from({ length: 10_000 }, (_, at) => sensor(`s${at}`));
  const { resources, notes } = remoteListing(all, options);
  assert.equal(resources.length, MOST_RESOURCES);
  assert.match(notes.join(), /it has 10000 resources.*Split it/);
});

Deno.test("remoteListing() finds that a remote is this machine", () => {
  const found = remoteListing([sensor("s")], { ...options, machines: "me" });
  assert.equal(found.isSelf, true);
  assert.deepEqual(found.resources, []);
});

Deno.test("remoteListing() leaves out what this machine gave to a remote of its own", () => {
  const names = [sensor("s"), sensor("back:own"), sensor("back:r:s"), sensor("other:own")];
  const { resources, notes } = remoteListing(names, {
    ...{ ...options, machines: "them,back=me,back:r=them,other=third" },
  });
  assert.deepEqual(resources.map(({ ours }) => ours), ["r:s", "r:other:own"]);
  assert.deepEqual(notes, ["r:back is this machine itself; it is left out"]);
});

Deno.test("remoteListing() ends circles of machines that do not say who they are", () => {
  const { resources } = remoteListing([sensor("a:b:c:d:s"), sensor("a:b:c:d:e:s")], options);
  assert.deepEqual(resources.map(({ ours }) => ours), ["r:a:b:c:d:s"]);
});

Deno.test("machinesHeader() names this machine, and those behind it as they name themselves", () => {
  const { machines } = remoteListing([], { ...options, machines: "them,s=third,bad entry=x" });
  assert.deepEqual([...machines], [["r", "them"], ["r:s", "third"]]);
  assert.equal(machinesHeader("me", [machines]), "me,r=them,r:s=third");
  const many = new Map(Array.from({ length: 1_000 }, (_, at) => [`r${at}`, "x"]));
  assert.equal(machinesHeader("me", [many]).split(",").length, 64);
});

Deno.test("machines of a circle name one another once, however often they ask", () => {
  const ids = ["a", "b", "c"];
  // Each has the next as a remote, twice.
  const headers = new Map(ids.map((id) => [id, id]));
  const rounds = Array.from({ length: 5 }, () => {
    for (const [at, ownId] of ids.entries()) {
      const machines = headers.get(ids[(at + 1) % ids.length]!)!;
      const behind = ["r", "again"].map((remote) => {
        const found = remoteListing([], { ...options, remote, ownId, machines });
        assert.ok(found.notes.length <= 4, found.notes.join());
        return found.machines;
      });
      headers.set(ownId, machinesHeader(ownId, behind));
    }
    return [...headers.values()].join(" ");
  });
  assert.equal(rounds.at(-1), rounds.at(-2));
  assert.equal(headers.get("a")!.split(",").length, 1 + 2 + 4);
});

Deno.test("machinesHeader() names the nearest machines first", () => {
  const far = Array.from({ length: 63 }, (_, at) => [`m:n${at}`, `far-${at}`] as const);
  const header = machinesHeader("me", [new Map([["m", "M"], ...far]), new Map([["b", "B"]])]);
  assert.deepEqual(header.split(",").slice(0, 4), ["me", "m=M", "b=B", "m:n0=far-0"]);
});

Deno.test("machinesHeader() is as long as is read", () => {
  const long = new Map(Array.from({ length: 60 }, (_, at) => [`${at}`.padStart(300, "r"), "x"]));
  const header = machinesHeader("me", [long]);
  assert.ok(header.length > 7_000 && header.length <= LONGEST_HEADER, `${header.length}`);
});

Deno.test("prefixed() puts the prefix before the name itself", () => {
  assert.equal(prefixed("p", "a:b:s"), "a:b:ps");
  assert.equal(prefixed("", "s"), "s");
});
