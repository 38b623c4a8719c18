import { toError } from "../../shared/base/errors/to_error.ts";
import { partArgument } from "../../shared/commands/choice/part.ts";
import {
  type DescMethodUnary,
  type DescService,
  fromJson,
  type JsonObject,
  toJson,
} from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { UsageError } from "../../shared/base/flags/flags.ts";
import { nearestName } from "../../shared/base/flags/nearest.ts";
import { textTable } from "../../shared/commands/output/text_table.ts";
import { command, type CommandTree } from "../../shared/commands/run/command.ts";
import { learnService } from "../../shared/rpc/client/reflection_client.ts";
import type { ResourceName } from "../../shared/gen/viam/common/v1/common_pb.ts";
import { RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { parseConfig } from "../config/part_config.ts";
import { knownService } from "./known_services.ts";
import { reach, type Reached, reachFlags } from "./reach.ts";

/** A machine may be at the end of a slow radio link. */
const QUESTION_MS = 60_000;

/** Calls of what a machine has. */
export const callCommands: CommandTree = {
  "resources": command({
    summary: "List the components and services of a machine.",
    flags: reachFlags,
    arguments: [partArgument],
    async run(context, { values, arguments: [wanted = ""] }) {
      await using machine = await reach(context, wanted, values.address);
      const { resources } = await createClient(RobotService, machine.transport).resourceNames({});
      const rows = resources.map((each) => [each.name, apiOf(each)]);
      return {
        json: resources.map((each) => ({ name: each.name, api: apiOf(each) })),
        text: rows.length === 0
          ? `no resources; ${context.commandLine("config edit")} adds some\n`
          : textTable([["RESOURCE", "API"], ...rows], context.terminal.columns),
        ids: resources.map(({ name }) => name),
      };
    },
  }),
  "call": command({
    summary: "Call a method of a component or service of a machine and print what it answers.",
    flags: reachFlags,
    arguments: [
      partArgument,
      { placeholder: "RESOURCE", doc: "Name of the component or service." },
      { placeholder: "METHOD", doc: "As GetReadings." },
      { placeholder: "JSON", doc: "Its arguments. Default: {}.", optional: true },
    ],
    footer: "Example: machine call my-machine arm-1 MoveToPosition " +
      '\'{"to": {"x": 100, "y": 0, "z": 0}}\'',
    async run(context, { values, arguments: [wanted = "", name = "", method = "", json = "{}"] }) {
      const input = parseConfig(json, "JSON");
      await using machine = await reach(context, wanted, values.address);
      const resource = await findResource(machine, name);
      const service = await serviceOf(machine, resource);
      const found = findMethod(service, method);
      const answer = await callUnary(machine.transport, found, name, input);
      return { json: answer, text: `${JSON.stringify(answer, null, 2)}\n` };
    },
  }),
};

function apiOf({ namespace, type, subtype }: ResourceName): string {
  return `${namespace}:${type}:${subtype}`;
}

async function findResource({ transport, part }: Reached, wanted: string): Promise<ResourceName> {
  const { resources } = await createClient(RobotService, transport).resourceNames({});
  const found = resources.find(({ name }) => name === wanted);
  if (found) return found;
  const names = resources.map(({ name }) => name);
  const near = nearestName(wanted, names);
  throw new UsageError(
    `${part.name} has no resource ${JSON.stringify(wanted)}${
      near === undefined ? "" : ` (did you mean ${near}?)`
    }; there is ${names.join(", ") || "none"}`,
  );
}

/** The API of a resource, as the machine itself describes it: modules may have their own. */
async function serviceOf(machine: Reached, resource: ResourceName): Promise<DescService> {
  const robot = createClient(RobotService, machine.transport);
  const { resourceRpcSubtypes } = await robot.resourceRPCSubtypes({});
  const name = resourceRpcSubtypes.find(({ subtype }) =>
    subtype && apiOf(subtype) === apiOf(resource)
  )?.protoService;
  const service = name === undefined ? undefined : await describedService(machine, name);
  if (service) return service;
  throw new Error(`the machine does not describe the methods of ${apiOf(resource)}`);
}

/** As the machine describes it; as this program knows it where the machine describes nothing. */
async function describedService(
  { transport, signal }: Reached,
  name: string,
): Promise<DescService | undefined> {
  try {
    return await learnService(transport, name, { signal, questionMs: QUESTION_MS });
  } catch (error) {
    if (ConnectError.from(error).code !== Code.Unimplemented) throw error;
    return await knownService(name);
  }
}

/** By its name in any case, with or without `Get`. @throws {UsageError} that lists what there is */
function findMethod({ methods, name }: DescService, wanted: string): DescMethodUnary {
  const same = (one: string) => one.toLowerCase() === wanted.toLowerCase();
  const found = methods.find((each) => same(each.name) || same(each.name.replace(/^Get/, "")));
  if (found?.methodKind === "unary") return found as DescMethodUnary;
  const names = methods.filter(({ methodKind }) => methodKind === "unary").map((each) => each.name);
  const near = nearestName(wanted, names);
  const problem = found ? "is a stream; a call takes one answer" : "is no method";
  throw new UsageError(
    `${JSON.stringify(wanted)} ${problem} of ${name}${
      near === undefined ? "" : ` (did you mean ${near}?)`
    }; there is ${names.join(", ")}`,
  );
}

/** What requests call the name of the resource: most, boards, and input controllers. */
const RESOURCE_FIELDS = ["name", "board_name", "controller"];

async function callUnary(
  transport: Transport,
  method: DescMethodUnary,
  name: string,
  input: JsonObject,
): Promise<unknown> {
  const named = RESOURCE_FIELDS.find((one) =>
    method.input.fields.some((field) => field.name === one)
  );
  let message;
  try {
    message = fromJson(method.input, named ? { ...input, [named]: name } : { ...input });
  } catch (error) {
    const reason = toError(error).message;
    const fields = method.input.fields.map((field) => field.jsonName).join(", ");
    throw new UsageError(`JSON does not fit ${method.name}: ${reason}; its fields are ${fields}`, {
      cause: error,
    });
  }
  const answer = await transport.unary(method, undefined, undefined, undefined, message);
  return toJson(method.output, answer.message);
}
