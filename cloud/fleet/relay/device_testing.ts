import { create, toBinary } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import {
  MachineService,
  type RelayedCall,
} from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { GetVersionResponseSchema } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import type { BootstrapResult } from "../../local/bootstrap/bootstrap.ts";
import { partSecret, type TestCloud } from "../../serve/cloud_testing.ts";

/** A device that answers every call with its version, and notes what came. For tests. */
export class Device implements AsyncDisposable {
  readonly got: RelayedCall[] = [];
  /** It takes calls and answers none. */
  isSilent = false;
  readonly #stop = new AbortController();
  readonly #ended: Promise<unknown>;
  readonly machine: Client<typeof MachineService>;
  readonly #answers: Client<typeof MachineService>;

  /** @param answersAt the node that gets its answers; left out: that of its stream */
  constructor(cloud: TestCloud, readonly made: BootstrapResult, answersAt = cloud) {
    this.machine = cloud.client(MachineService, partSecret(made));
    this.#answers = answersAt.client(MachineService, partSecret(made));
    this.#ended = this.#run().catch((error) => error);
  }

  async #run(): Promise<void> {
    const partId = this.made.part_id;
    const { signal } = this.#stop;
    for await (const { event } of this.machine.watch({ partId, takesCalls: true }, { signal })) {
      if (event.case !== "relayedCall") continue;
      this.got.push(event.value);
      if (this.isSilent) continue;
      const version = create(GetVersionResponseSchema, { version: "9.9.9" });
      const response = toBinary(GetVersionResponseSchema, version);
      await this.#answers.answerCalls({ partId, answers: [{ id: event.value.id, response }] });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }
}
