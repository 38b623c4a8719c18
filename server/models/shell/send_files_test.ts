import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import { dirname, join } from "node:path";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import {
  type CopyFilesFromMachineRequest,
  CopyFilesFromMachineRequestSchema,
  CopyFilesFromMachineResponseSchema,
  CopyFilesSourceType as SourceType,
  CopyFilesToMachineRequestSchema,
  type FileData,
} from "../../../shared/gen/viam/service/shell/v1/shell_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { receiveFiles } from "./receive_files.ts";
import { sendFiles } from "./send_files.ts";
import { hasCode, RequestStream, testWithHome as test, tree } from "./testing.ts";

const isWindows = Deno.build.os === "windows";
const stay = new AbortController().signal;
const bytes = (text: string) => new TextEncoder().encode(text);

interface FromMachine {
  paths: string[];
  allowRecursion?: boolean;
  preserve?: boolean;
}

/** Everything that is sent; each file is acknowledged. */
async function fetchAll(home: string, request: FromMachine, log = memoryLogger()) {
  const requests = new RequestStream<CopyFilesFromMachineRequest>();
  const add = (value: MessageInitShape<typeof CopyFilesFromMachineRequestSchema>["request"]) =>
    requests.send(create(CopyFilesFromMachineRequestSchema, { request: value! }));
  add({ case: "metadata", value: request });
  const files: { head: FileData; text: string }[] = [];
  let sourceType: SourceType | undefined;
  let largest = 0;
  const folders = { user: home, machine: join(home, "m") };
  for await (const init of sendFiles(requests, stay, { folders, log })) {
    const { response } = create(CopyFilesFromMachineResponseSchema, init);
    if (response.case === "metadata") sourceType = response.value.sourceType;
    if (response.case !== "fileData") continue;
    const { value } = response;
    largest = Math.max(largest, value.data.length);
    if (value.name !== "") files.push({ head: value, text: "" });
    files.at(-1)!.text += new TextDecoder().decode(value.data);
    if (!value.eof) continue;
    assert.equal(value.data.length, 0, "some receivers drop data that comes with the end");
    add({ case: "ackLastFile", value: true });
  }
  return { sourceType, files, largest };
}

test("sendFiles() sends a folder, what it holds first", async (home) => {
  await Deno.mkdir(join(home, "d", "sub"), { recursive: true });
  await Deno.writeTextFile(join(home, "d", "b"), "bb");
  await Deno.writeTextFile(join(home, "d", "sub", "c"), "");
  const { sourceType, files } = await fetchAll(home, { paths: ["d"], allowRecursion: true });
  assert.equal(sourceType, SourceType.SINGLE_DIRECTORY);
  assert.deepEqual(files.map(({ head, text }) => [head.name, head.isDir, head.size, text]), [
    ["d/b", false, 2n, "bb"],
    ["d/sub/c", false, 0n, ""],
    ["d/sub", true, files[2]!.head.size, ""],
    ["d", true, files[3]!.head.size, ""],
  ]);
  assert.deepEqual(
    files.map(({ head }) => [head.mode, head.modTime]),
    Array(4).fill([undefined, undefined]),
  );
});

test("sendFiles() cuts large files into pieces", async (home) => {
  const text = "0123456789".repeat(100_000);
  await Deno.writeTextFile(join(home, "large"), text);
  const { files, largest, sourceType } = await fetchAll(home, { paths: ["~/large"] });
  assert.equal(sourceType, SourceType.SINGLE_FILE);
  assert(files[0]!.text === text);
  assert.equal(largest, 256 * 1024);
});

test("sendFiles() tells times and permissions when that is asked for", async (home) => {
  const path = join(home, "run");
  await Deno.writeTextFile(path, "", { mode: 0o751 });
  await Deno.chmod(path, 0o751);
  await Deno.utime(path, 5, 1_600_000_000);
  const { files: [file] } = await fetchAll(home, { paths: [path], preserve: true });
  assert.equal(file!.head.mode, 0o751);
  assert.equal(timestampDate(file!.head.modTime!).getTime(), 1_600_000_000_000);
}, isWindows);

test("sendFiles() refuses folders unless asked, and what is not there", async (home) => {
  await Deno.mkdir(join(home, "m"));
  await assert.rejects(
    fetchAll(home, { paths: ["$MACHINE_HOME"] }),
    hasCode(Code.InvalidArgument, /m is a folder; to copy folders set allow_recursion/),
  );
  await assert.rejects(
    fetchAll(home, { paths: ["none"] }),
    hasCode(Code.NotFound, /cannot copy .*none: it or its folder does not exist/),
  );
  await assert.rejects(fetchAll(home, { paths: [] }), hasCode(Code.InvalidArgument, /no paths/));
  await assert.rejects(fetchAll(home, { paths: [""] }), hasCode(Code.InvalidArgument, /is empty/));
});

test(
  "sendFiles() follows links, but not into what is around them, and leaves out pipes",
  async (home) => {
    await Deno.mkdir(join(home, "d"));
    await Deno.writeTextFile(join(home, "target"), "t");
    await Deno.symlink(join(home, "target"), join(home, "d", "link"));
    await Deno.symlink(join(home, "d"), join(home, "d", "loop"));
    await Deno.symlink("nowhere", join(home, "d", "dangling"));
    await new Deno.Command("mkfifo", { args: [join(home, "d", "pipe")] }).output();
    const log = memoryLogger();
    const { files } = await fetchAll(home, { paths: ["d"], allowRecursion: true }, log);
    assert.deepEqual(files.map(({ head, text }) => [head.name, text]), [["d/link", "t"], [
      "d",
      "",
    ]]);
    assert.equal(log.messages("warn").length, 3);
  },
  isWindows,
);

test("sendFiles() waits for each file to be acknowledged", async (home) => {
  for (const name of ["a", "b"]) await Deno.writeTextFile(join(home, name), name);
  const requests = new RequestStream<CopyFilesFromMachineRequest>();
  const value = { paths: ["a", "b"] };
  requests.send(
    create(CopyFilesFromMachineRequestSchema, { request: { case: "metadata", value } }),
  );
  const context = { folders: { user: home, machine: home }, log: memoryLogger() };
  const answers = sendFiles(requests, stay, context);
  assert.deepEqual((await answers.next()).value?.response, {
    case: "metadata",
    value: { sourceType: SourceType.MULTIPLE_FILES },
  });
  await answers.next();
  await answers.next();
  let isThere = false;
  const next = answers.next().finally(() => isThere = true);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isThere, false);
  requests.end();
  assert.equal((await next).done, true, "the caller wants no more");
});

test("sendFiles() and receiveFiles() copy a folder to an equal one", async (home) => {
  const source = { "p/a": "1", "p/q/b": "2".repeat(300_000), "p/q/r/c": "", "p/\u00e4 b": "3" };
  for (const [path, text] of Object.entries(source)) {
    await Deno.mkdir(dirname(join(home, path)), { recursive: true });
    await Deno.writeTextFile(join(home, path), text);
  }
  const { files } = await fetchAll(home, { paths: ["p"], allowRecursion: true, preserve: true });
  const sourceType = SourceType.SINGLE_DIRECTORY;
  const metadata = { destination: "copy", sourceType, preserve: true };
  const requests = [
    { request: { case: "metadata" as const, value: metadata } },
    ...files.map(({ head, text }) => ({
      request: { case: "fileData" as const, value: { ...head, data: bytes(text), eof: true } },
    })),
  ].map((request) => create(CopyFilesToMachineRequestSchema, request));
  const stream = new RequestStream<typeof requests[number]>().send(...requests).end();
  let count = 0;
  for await (const _ of receiveFiles(stream, stay, { user: home, machine: home })) count++;
  assert.equal(count, files.length);
  assert.deepEqual(await tree(join(home, "copy")), await tree(join(home, "p")));
});
