import assert from "node:assert/strict";
import { join } from "node:path";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import {
  CopyFilesSourceType as SourceType,
  type CopyFilesToMachineRequest,
  CopyFilesToMachineRequestSchema,
  type FileDataSchema,
} from "../../../shared/gen/viam/service/shell/v1/shell_pb.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { nameParts } from "./machine_path.ts";
import { receiveFiles } from "./receive_files.ts";
import { hasCode, RequestStream, testWithHome as test, tree } from "./testing.ts";

const isWindows = Deno.build.os === "windows";
const stay = new AbortController().signal;
const bytes = (text: string) => new TextEncoder().encode(text);

interface ToMachine {
  destination: string;
  sourceType?: SourceType;
  preserve?: boolean;
}

function metadata(value: ToMachine): CopyFilesToMachineRequest {
  const request = {
    case: "metadata",
    value: { sourceType: SourceType.SINGLE_FILE, ...value },
  } as const;
  return create(CopyFilesToMachineRequestSchema, { request });
}

function data(value: MessageInitShape<typeof FileDataSchema>): CopyFilesToMachineRequest {
  return create(CopyFilesToMachineRequestSchema, { request: { case: "fileData", value } });
}

/** @returns how many files were acknowledged. */
async function receive(requests: AsyncIterable<CopyFilesToMachineRequest>, home: string) {
  let count = 0;
  for await (const _ of receiveFiles(requests, stay, { user: home, machine: `${home}/m` })) count++;
  return count;
}

function send(home: string, to: ToMachine, ...files: MessageInitShape<typeof FileDataSchema>[]) {
  const requests = new RequestStream<CopyFilesToMachineRequest>();
  return receive(requests.send(metadata(to), ...files.map(data)).end(), home);
}

test("receiveFiles() joins the pieces of a file and acknowledges it", async (home) => {
  const count = await send(
    home,
    { destination: "new.txt" },
    { name: "old.txt", data: bytes("a") },
    { data: bytes("bc") },
    { data: bytes("d"), eof: true },
  );
  assert.equal(count, 1);
  assert.deepEqual(await tree(home), { "new.txt": "abcd" });
});

test("receiveFiles() puts into a folder that is there, or under a new name", async (home) => {
  await Deno.mkdir(join(home, "there"));
  const file = { name: "a", eof: true };
  await send(home, { destination: "there" }, file);
  await send(home, { destination: `~/there/b` }, file);
  await send(home, { destination: "" }, { ...file, name: "c" });
  await send(home, { destination: join(home, "there", "a") }, { ...file, data: bytes("over") });
  const folder = { sourceType: SourceType.SINGLE_DIRECTORY };
  const inside = [{ name: "d/e/f", eof: true }, { name: "d", isDir: true, eof: true }];
  await send(home, { destination: "there", ...folder }, ...inside);
  await send(home, { destination: "$MACHINE_HOME", ...folder }, ...inside);
  await send(home, { destination: "$VIAM_HOME", ...folder }, { name: "g", isDir: true, eof: true });
  assert.deepEqual(await tree(home), {
    "c": "",
    "m/": "",
    "m/e/": "",
    "m/e/f": "",
    "m/g/": "",
    "there/": "",
    "there/a": "over",
    "there/b": "",
    "there/d/": "",
    "there/d/e/": "",
    "there/d/e/f": "",
  });
});

test("receiveFiles() refuses destinations that are not there", async (home) => {
  await Deno.writeTextFile(join(home, "file"), "");
  const file = { name: "a", eof: true };
  const { MULTIPLE_FILES, SINGLE_DIRECTORY } = SourceType;
  for (const destination of ["no/such", "file/x"]) {
    await assert.rejects(
      send(home, { destination }, file),
      hasCode(Code.NotFound, /is no folder that exists/),
    );
  }
  await assert.rejects(
    send(home, { destination: "no", sourceType: MULTIPLE_FILES }, file),
    hasCode(Code.NotFound, /no is no folder that exists/),
  );
  await assert.rejects(
    send(home, { destination: "file", sourceType: SINGLE_DIRECTORY }, file),
    hasCode(Code.InvalidArgument, /file is a file; a folder/),
  );
  await assert.rejects(
    send(home, { destination: "x", sourceType: SourceType.UNSPECIFIED }, file),
    hasCode(Code.InvalidArgument, /no source type/),
  );
  assert.deepEqual(await tree(home), { file: "" });
});

test("receiveFiles() refuses names that lead out of the destination", async (home) => {
  await Deno.mkdir(join(home, "in"));
  for (const name of ["", "..", "../x", "a/../../x", "/etc/x", "a//b", "./a", "a/.", "x\0y"]) {
    await assert.rejects(
      send(home, { destination: "in" }, { name, eof: true }),
      hasCode(Code.InvalidArgument, /is not taken as a name/),
      JSON.stringify(name),
    );
  }
  assert.deepEqual(await tree(home), { "in/": "" });
});

test("receiveFiles() leaves nothing of a file that was cut short", async (home) => {
  await Deno.writeTextFile(join(home, "a"), "old");
  const start = [metadata({ destination: "" }), data({ name: "a", data: bytes("new") })];
  const streams = {
    ended: new RequestStream<CopyFilesToMachineRequest>().send(...start).end(),
    broken: new RequestStream<CopyFilesToMachineRequest>().send(...start).break(),
    mixed: new RequestStream<CopyFilesToMachineRequest>().send(...start, data({ name: "b" })),
    late: new RequestStream<CopyFilesToMachineRequest>().send(...start, start[0]!),
  };
  for (const [name, stream] of Object.entries(streams)) {
    await assert.rejects(receive(stream, home), name);
    assert.deepEqual(await tree(home), { a: "old" }, name);
  }
});

test("receiveFiles() leaves nothing when the caller goes away", async (home) => {
  const caller = new AbortController();
  const requests = new RequestStream<CopyFilesToMachineRequest>();
  requests.send(metadata({ destination: "" }), data({ name: "a", data: bytes("x") }));
  const answers = receiveFiles(requests, caller.signal, { user: home, machine: home });
  const next = answers.next();
  next.catch(() => {});
  await waitFor(async () => Object.keys(await tree(home)).length === 1, { deadlineMs: 60_000 });
  caller.abort(new Error("left"));
  await assert.rejects(next, /left/);
  assert.deepEqual(await tree(home), {});
});

test("receiveFiles() keeps times and permissions when that is asked for", async (home) => {
  const at = new Date("2020-02-03T04:05:06Z");
  const modTime = timestampFromDate(at);
  const files = [
    { name: "d/run", mode: 0o754, modTime, data: bytes("x"), eof: true },
    { name: "d", mode: 0o100000750 | 0o2000, isDir: true, modTime, eof: true },
  ];
  const to = { destination: "", sourceType: SourceType.SINGLE_DIRECTORY };
  await send(home, { ...to, preserve: true }, ...files);
  for (const [path, mode] of [["d/run", 0o754], ["d", 0o750]] as const) {
    const info = await Deno.stat(join(home, path));
    assert.equal(info.mtime?.getTime(), at.getTime(), path);
    assert.equal(info.mode! & 0o7777, mode, path);
  }
  await send(home, { destination: "plain" }, { name: "run", modTime, eof: true });
  const plain = await Deno.stat(join(home, "plain"));
  assert.notEqual(plain.mtime?.getTime(), at.getTime());
  assert.equal(plain.mode! & 0o777 & ~0o640, 0);
}, isWindows);

test("receiveFiles() refuses streams that begin with something else", async (home) => {
  const stream = new RequestStream<CopyFilesToMachineRequest>().send(data({ name: "a" })).end();
  await assert.rejects(receive(stream, home), hasCode(Code.InvalidArgument, /with the metadata/));
});

test("receiveFiles() says what the system says when it cannot write", async (home) => {
  await Deno.mkdir(join(home, "d", "a"), { recursive: true });
  await Deno.writeTextFile(join(home, "d", "a", "x"), "");
  await assert.rejects(
    send(home, { destination: "d" }, { name: "a", eof: true }),
    /cannot copy to .*a: it is a folder, a file is needed \(EISDIR\)/,
  );
  assert.deepEqual(await tree(home), { "d/": "", "d/a/": "", "d/a/x": "" });
}, isWindows);

Deno.test("nameParts() knows the separators and forbidden characters of Windows", () => {
  assert.deepEqual(nameParts("a\\b/c", true), ["a", "b", "c"]);
  for (const name of ["C:\\x", "a\\..\\b", "a:b"]) assert.throws(() => nameParts(name, true));
  assert.deepEqual(nameParts("a\\b", false), ["a\\b"]);
});
