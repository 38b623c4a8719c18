import assert from "node:assert/strict";
import { createClient } from "@connectrpc/connect";
import { basename, join } from "node:path";
import { DataSyncService } from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { createInProcessTransport } from "../../../shared/rpc/server/in_process.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { FtdcUploads } from "./uploads.ts";

const NAMES = [1, 2, 3].map((day) => `machine-server-2026-01-0${day}T00-00-00Z.ftdc`);

/** A folder with three files of a capture, and a cloud that notes what it gets. */
async function withFolder(
  use: (rig: {
    folder: string;
    got: { name: string; tags: string[]; type: number; bytes: number }[];
    log: ReturnType<typeof memoryLogger>;
    clock: FakeClock;
    refuse: (yes: boolean) => void;
    start: () => FtdcUploads;
  }) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "ftdc-uploads-" });
  const got: { name: string; tags: string[]; type: number; bytes: number }[] = [];
  let isRefusing = false;
  const router = new RpcRouter().service(DataSyncService, {
    async fileUpload(requests) {
      if (isRefusing) throw new Error("no room");
      const one = { name: "", tags: [] as string[], type: 0, bytes: 0 };
      for await (const { uploadPacket: { case: kind, value } } of requests) {
        if (kind === "metadata") {
          one.name = basename(value.fileName);
          one.tags = value.tags;
          one.type = value.type;
        } else if (kind === "fileContents") one.bytes += value.data.length;
      }
      got.push(one);
      return { binaryDataId: one.name };
    },
  });
  const log = memoryLogger("rdk.ftdc");
  const clock = new FakeClock();
  const transport = createInProcessTransport(router);
  try {
    for (const name of NAMES) await Deno.writeFile(join(folder, name), new Uint8Array(100_000));
    await Deno.writeTextFile(join(folder, "notes.txt"), "mine");
    await use({
      folder,
      got,
      log,
      clock,
      refuse: (yes) => isRefusing = yes,
      start: () =>
        new FtdcUploads({
          folder,
          cloud: { client: (service) => createClient(service, transport), partId: "p" },
          clock,
          log,
          random: () => 0.5,
        }),
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("FtdcUploads sends complete files once, oldest first, and leaves them where they are", () =>
  withFolder(async ({ folder, got, clock, start }) => {
    const uploads = start();
    await waitFor(() => got.length === 2, { deadlineMs: 60_000 });
    assert.deepEqual(
      got,
      NAMES.slice(0, 2).map((name) => ({
        name,
        tags: ["ftdc"],
        type: 3,
        bytes: 100_000,
      })),
    );
    await Deno.remove(join(folder, NAMES[0]!));
    const next = "machine-server-2026-01-04T00-00-00Z.ftdc";
    await Deno.writeFile(join(folder, next), new Uint8Array());
    await waitFor(async () => {
      await clock.advance(60_000);
      return got.length === 3;
    }, { deadlineMs: 60_000 });
    assert.equal(got[2]?.name, NAMES[2]);
    await uploads.close();
    const list = await Deno.readTextFile(join(folder, "uploaded"));
    assert.deepEqual(list.trim().split("\n"), NAMES.slice(1));

    const again = start();
    await clock.advance(60_000);
    await again.close();
    assert.equal(got.length, 3);
  }));

Deno.test("FtdcUploads says once that the cloud refuses, and goes on when it takes files", () =>
  withFolder(async ({ got, log, clock, refuse, start }) => {
    refuse(true);
    const uploads = start();
    await waitFor(() => log.messages("warn").length > 0, { deadlineMs: 60_000 });
    await clock.advance(300_000);
    refuse(false);
    await waitFor(async () => {
      await clock.advance(600_000);
      return got.length === 2;
    }, { deadlineMs: 60_000 });
    await waitFor(() => log.messages("info").length > 0, { deadlineMs: 60_000 });
    await uploads.close();
    assert.equal(log.messages("warn").length, 1);
    assert.match(log.text(), /diagnostics are not uploaded: .*; retrying/);
    assert.match(log.text(), /diagnostics are uploaded again/);
  }));
