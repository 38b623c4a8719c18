import assert from "node:assert/strict";
import {
  MachineService,
  type WatchResponse,
} from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { partSecret, type TestCloud } from "../../serve/cloud_testing.ts";

/** Reads a stream in the background and lets tests look at what came. */
export class Watching {
  readonly cases: string[] = [];
  readonly revisions: string[] = [];
  readonly abort = new AbortController();
  readonly ended: Promise<unknown>;

  constructor(
    cloud: TestCloud,
    made: Awaited<ReturnType<TestCloud["bootstrap"]>>,
    credentials = partSecret(made),
  ) {
    const client = cloud.client(MachineService, credentials);
    const { signal } = this.abort;
    this.ended = this.#read(client.watch({ partId: made.part_id }, { signal })).catch((e) => e);
  }

  async #read(messages: AsyncIterable<WatchResponse>): Promise<void> {
    for await (const { event } of messages) {
      this.cases.push(event.case ?? "none");
      if (event.case === "configChanged" || event.case === "keepalive") {
        this.revisions.push(event.value.revision);
      }
    }
  }

  async has(...cases: string[]): Promise<void> {
    await waitFor(() => this.cases.length >= cases.length, { deadlineMs: 90_000, everyMs: 2 });
    assert.deepEqual(this.cases, cases);
  }

  async [Symbol.asyncDispose]() {
    this.abort.abort();
    await this.ended;
  }
}
