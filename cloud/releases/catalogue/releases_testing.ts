import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Client, createClient } from "@connectrpc/connect";
import {
  type AddReleaseInfoSchema,
  AgentService,
  type AgentStatusSchema,
  type ProgramStatusSchema,
  type Release,
  ReleaseService,
} from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import type { BootstrapResult } from "../../local/bootstrap/bootstrap.ts";
import { apiKey, partSecret, type TestCloud } from "../../serve/cloud_testing.ts";

export type ReleaseClient = Client<typeof ReleaseService>;

/** Bytes of a script, different for each text. For tests. */
export function script(text = "echo hello"): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`#!/bin/sh\n${text}\n`);
}

/** Adds a file of a release in small pieces. For tests. */
export async function addRelease(
  client: ReleaseClient,
  version: string,
  info: MessageInitShape<typeof AddReleaseInfoSchema> & { readonly contents?: Uint8Array } = {},
): Promise<Release | undefined> {
  const { contents = script(version), ...more } = info;
  const { release } = await client.addRelease(async function* () {
    const value = { binary: "machine-server", version, platform: "linux/amd64", ...more };
    yield await Promise.resolve({ piece: { case: "info" as const, value } });
    const step = contents.length < 1_000 ? 7 : 100_000;
    for (let at = 0; at < contents.length; at += step) {
      yield { piece: { case: "contents" as const, value: contents.subarray(at, at + step) } };
    }
  }());
  return release;
}

/** A machine of a test cloud and its agent. */
export interface TestMachine {
  readonly made: BootstrapResult;
  readonly agent: Client<typeof AgentService>;
  /** Requests the server's version; `installed` is what it would start now. */
  target(installed?: string): Promise<{ version: string; problem: string; heldBack: string }>;
  /** Reports the server's status. */
  report(server: MessageInitShape<typeof ProgramStatusSchema>): Promise<void>;
  /** Reports a whole status. */
  reportAll(status: MessageInitShape<typeof AgentStatusSchema>): Promise<void>;
}

/** Makes a machine that follows `version`, with tags. */
export async function testMachine(
  cloud: TestCloud,
  machine: string,
  version?: string,
  tags: readonly string[] = [],
): Promise<TestMachine> {
  const agentSection = {
    tags,
    ...(version === undefined ? {} : { version_control: { "machine-server": version } }),
  };
  const made = await cloud.bootstrap({ machine, config: { agent: agentSection } });
  const partId = made.part_id;
  const agent = cloud.client(AgentService, partSecret(made));
  const reportAll = async (status: MessageInitShape<typeof AgentStatusSchema>) => {
    await agent.reportAgentStatus({ partId, status: { platform: "linux/amd64", ...status } });
  };
  return {
    made,
    agent,
    reportAll,
    report: (server) => reportAll({ server }),
    async target(serverInstalled = "") {
      const { server } = await agent.getTargets({
        partId,
        platform: "linux/amd64",
        serverInstalled,
      });
      const { version = "", problem = "", heldBack = "" } = server ?? {};
      return { version, problem, heldBack };
    },
  };
}

export function releases(cloud: TestCloud, made: BootstrapResult): ReleaseClient {
  return createClient(ReleaseService, cloud.transport(apiKey(made)));
}
