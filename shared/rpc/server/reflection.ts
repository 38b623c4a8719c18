import {
  createRegistry,
  type DescExtension,
  type DescFile,
  type DescMessage,
  toBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, type ServiceImpl } from "@connectrpc/connect";
import {
  ServerReflection,
  type ServerReflectionRequest,
} from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { collectFiles, withMethods } from "./added_descriptors.ts";
import type { RpcRouter } from "./router.ts";

type Answer =
  | { case: "listServicesResponse"; value: { service: { name: string }[] } }
  | { case: "fileDescriptorResponse"; value: { fileDescriptorProto: Uint8Array[] } }
  | {
    case: "allExtensionNumbersResponse";
    value: { baseTypeName: string; extensionNumber: number[] };
  }
  | { case: "errorResponse"; value: { errorCode: number; errorMessage: string } };

/**
 * Serves gRPC reflection, v1 and v1alpha (older clients and module managers request the latter),
 * over whatever the router has mounted at the time of the question.
 */
export function mountReflection(router: RpcRouter): void {
  const implementation: ServiceImpl<typeof ServerReflection> = {
    async *serverReflectionInfo(requests) {
      for await (const request of requests) {
        yield {
          validHost: request.host,
          originalRequest: request,
          messageResponse: answer(router, request.messageRequest),
        };
      }
    },
  };
  router.service(ServerReflection, implementation);
  // The two versions have the same fields under the same numbers, so the same code serves both.
  router.service(
    ServerReflectionAlpha,
    implementation as unknown as ServiceImpl<typeof ServerReflectionAlpha>,
  );
}

function answer(router: RpcRouter, question: ServerReflectionRequest["messageRequest"]): Answer {
  const services = [...router.services].map(({ service }) => service);
  if (question.case === "listServices") {
    const names = services.map((service) => service.typeName).sort();
    return { case: "listServicesResponse", value: { service: names.map((name) => ({ name })) } };
  }
  const files = servedFiles(router);
  const descriptors = (file: DescFile) => descriptorsOf(file, files);
  switch (question.case) {
    case "fileByFilename": {
      const file = files.get(question.value);
      return file ? descriptors(file) : notFound(`file ${question.value}`);
    }
    case "fileContainingSymbol": {
      const file = findSymbol([...files.values()], question.value);
      return file ? descriptors(file) : notFound(`symbol ${question.value}`);
    }
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = question.value;
      const extension = extensionsOf([...files.values()], containingType)
        .find((extension) => extension.number === extensionNumber);
      return extension
        ? descriptors(extension.file)
        : notFound(`extension ${extensionNumber} of ${containingType}`);
    }
    case "allExtensionNumbersOfType": {
      const numbers = extensionsOf([...files.values()], question.value);
      return {
        case: "allExtensionNumbersResponse",
        value: {
          baseTypeName: question.value,
          extensionNumber: numbers.map((extension) => extension.number),
        },
      };
    }
    default:
      return {
        case: "errorResponse",
        value: { errorCode: Code.InvalidArgument, errorMessage: "the request is empty" },
      };
  }
}

/** The files of all services, with the methods that were added to some from another text. */
function servedFiles(router: RpcRouter): Map<string, DescFile> {
  const bindings = [...router.services];
  const added = bindings.flatMap(({ service, methods }) =>
    methods.filter((each) => each.service !== service).map(({ method }) => method)
  );
  const extended = new Set(added.map(({ parent }) => parent.typeName));
  const plain = bindings.filter(({ service }) => !extended.has(service.typeName));
  const files = bindings.filter(({ service }) => extended.has(service.typeName))
    .map(({ service }) => withMethods(service.file, added));
  return collectFiles([...files, ...plain.map(({ service }) => service.file)]);
}

/** Clients take a file together with all that it imports, so that they need not ask again. */
function descriptorsOf(file: DescFile, files: ReadonlyMap<string, DescFile>): Answer {
  const all = [...collectFiles([file]).keys()].map((name) => files.get(name) ?? file);
  return {
    case: "fileDescriptorResponse",
    value: {
      fileDescriptorProto: all.map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto)),
    },
  };
}

function findSymbol(files: DescFile[], symbol: string): DescFile | undefined {
  const registry = createRegistry(...files);
  const found = registry.get(symbol);
  if (found) return found.file;
  const dot = symbol.lastIndexOf(".");
  const parent = dot === -1 ? undefined : registry.get(symbol.slice(0, dot));
  const member = symbol.slice(dot + 1);
  switch (parent?.kind) {
    case "service":
      return parent.methods.some((method) => method.name === member) ? parent.file : undefined;
    case "message":
      return parent.fields.some((field) => field.name === member) ? parent.file : undefined;
    case "enum":
      return parent.values.some((value) => value.name === member) ? parent.file : undefined;
    default:
      return undefined;
  }
}

function extensionsOf(files: DescFile[], typeName: string): DescExtension[] {
  const nested = (message: DescMessage): DescExtension[] => [
    ...message.nestedExtensions,
    ...message.nestedMessages.flatMap(nested),
  ];
  return files
    .flatMap((file) => [...file.extensions, ...file.messages.flatMap(nested)])
    .filter((extension) => extension.extendee.typeName === typeName);
}

function notFound(what: string): Answer {
  return {
    case: "errorResponse",
    value: { errorCode: Code.NotFound, errorMessage: `${what} is not known here` },
  };
}
