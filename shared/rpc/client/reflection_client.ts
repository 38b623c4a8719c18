/** Learns from a server by gRPC reflection what a service looks like. */
import { type DescService, fromBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import {
  type ErrorResponse,
  type FileDescriptorResponse,
  ServerReflection,
} from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { countedValues } from "../message_values.ts";
import { registryOf } from "./described_files.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";

/** More files than any API has; a server that never comes to an end is not listened to. */
const MOST_FILES = 500;
/** Bytes of all files of one service, as they come: what they describe is kept for good. */
const MOST_BYTES = 2 * 2 ** 20;
/** Values of all of them; the largest public API has 15,000. */
const MOST_DESCRIBED_VALUES = 100_000;

type Question =
  | { readonly case: "fileContainingSymbol"; readonly value: string }
  | { readonly case: "fileByFilename"; readonly value: string };

type Ask = (question: Question) => Promise<Uint8Array[]>;

export interface LearnOptions {
  readonly signal: AbortSignal;
  /** One question may take this long, milliseconds. Default: 5 s. */
  readonly questionMs?: number;
}

/**
 * The service of that full name with all its messages, as the server behind `transport` describes
 * it. Asks version 1alpha first, which existing modules have, then version 1.
 *
 * @throws an error that says what the server does not describe, or that it describes too much;
 *   UNIMPLEMENTED when it describes nothing.
 */
export async function learnService(
  transport: Transport,
  typeName: string,
  options: LearnOptions,
): Promise<DescService> {
  try {
    return await learn(asker(transport, ServerReflectionAlpha, options), typeName);
  } catch (error) {
    if (ConnectError.from(error).code !== Code.Unimplemented) throw error;
  }
  return await learn(asker(transport, ServerReflection, options), typeName);
}

async function learn(ask: Ask, typeName: string): Promise<DescService> {
  const files = new Map<string, FileDescriptorProto>();
  let size = 0;
  let values = 0;
  const take = (all: Uint8Array[]) => {
    for (const bytes of all) {
      size += bytes.length;
      if (size > MOST_BYTES) throw new Error(`it describes more than ${MOST_BYTES} bytes`);
      values += countedValues(FileDescriptorProtoSchema, bytes);
      if (values > MOST_DESCRIBED_VALUES) {
        throw new Error(`it describes more than ${MOST_DESCRIBED_VALUES} values`);
      }
      const file = fromBinary(FileDescriptorProtoSchema, bytes);
      files.set(file.name, file);
    }
    requireFew(files.size);
  };
  take(await ask({ case: "fileContainingSymbol", value: typeName }));
  for (let missing = imports(files); missing.length > 0; missing = imports(files)) {
    const before = files.size;
    requireFew(before + missing.length);
    for (const name of missing) take(await ask({ case: "fileByFilename", value: name }));
    if (files.size === before) throw new Error(`it does not describe ${missing.join(", ")}`);
  }
  const root = [...files.values()].find((file) => servicesIn(file).includes(typeName));
  if (!root) throw new Error(`what it describes has no service ${typeName}`);
  const service = registryOf(root.name, files).getService(typeName);
  if (!service) throw new Error(`what it describes has no service ${typeName}`);
  return service;
}

function requireFew(files: number): void {
  if (files > MOST_FILES) throw new Error(`it describes more than ${MOST_FILES} files`);
}

/** Imports that have not been requested. */
function imports(files: ReadonlyMap<string, FileDescriptorProto>): string[] {
  const wanted = [...files.values()].flatMap(({ dependency }) => dependency);
  return [...new Set(wanted)].filter((name) => !files.has(name));
}

function servicesIn(file: FileDescriptorProto): string[] {
  const prefix = file.package === "" ? "" : `${file.package}.`;
  return file.service.map(({ name }) => prefix + name);
}

/** The two versions differ in their package only. */
function asker(
  transport: Transport,
  version: typeof ServerReflection | typeof ServerReflectionAlpha,
  { signal, questionMs: timeoutMs = 5_000 }: LearnOptions,
): Ask {
  const client = createClient(version as typeof ServerReflection, transport);
  return async (question) => {
    const answers = client.serverReflectionInfo(once(question), { timeoutMs, signal });
    for await (const { messageResponse } of answers) {
      if (messageResponse.case === "fileDescriptorResponse") {
        return (messageResponse.value as FileDescriptorResponse).fileDescriptorProto;
      }
      if (messageResponse.case === "errorResponse") {
        const { errorMessage } = messageResponse.value as ErrorResponse;
        throw new Error(`it does not describe ${question.value}: ${errorMessage}`);
      }
    }
    throw new Error(`it gave no answer about ${question.value}`);
  };
}

async function* once(messageRequest: Question) {
  yield await Promise.resolve({ messageRequest });
}
