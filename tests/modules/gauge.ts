/**
 * The API `acme:component:gauge`, which no server of ours knows. As text:
 *
 *     package acme.component.gauge.v1;
 *     message ReadRequest { string name = 1; string unit = 2; }
 *     message ReadResponse { double value = 1; string note = 2; }
 *     message WatchRequest { string name = 1; uint32 count = 2; }
 *     service GaugeService {
 *       rpc Read(ReadRequest) returns (ReadResponse);
 *       rpc Watch(WatchRequest) returns (stream ReadResponse);
 *       rpc DoCommand(viam.common.v1.DoCommandRequest) returns (viam.common.v1.DoCommandResponse);
 *     }
 */
import { create, createFileRegistry, type DescService, type JsonObject } from "@bufbuild/protobuf";
import {
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FileDescriptorProtoSchema,
} from "@bufbuild/protobuf/wkt";
import { createClient, type Transport } from "@connectrpc/connect";
import { file_viam_common_v1_common } from "../../shared/gen/viam/common/v1/common_pb.ts";

export const GAUGE_API = "acme:component:gauge";

const PACKAGE = "acme.component.gauge.v1";
const COMMON = "viam/common/v1/common.proto";

const { STRING, DOUBLE, UINT32 } = FieldDescriptorProto_Type;

function message(name: string, fields: Record<string, FieldDescriptorProto_Type>) {
  return {
    name,
    field: Object.entries(fields).map(([name, type], index) => ({
      name,
      jsonName: name,
      number: index + 1,
      type,
      label: FieldDescriptorProto_Label.OPTIONAL,
    })),
  };
}

const file = create(FileDescriptorProtoSchema, {
  name: "acme/component/gauge/v1/gauge.proto",
  package: PACKAGE,
  syntax: "proto3",
  dependency: [COMMON],
  messageType: [
    message("ReadRequest", { name: STRING, unit: STRING }),
    message("ReadResponse", { value: DOUBLE, note: STRING }),
    message("WatchRequest", { name: STRING, count: UINT32 }),
  ],
  service: [{
    name: "GaugeService",
    method: [
      {
        name: "Read",
        inputType: `.${PACKAGE}.ReadRequest`,
        outputType: `.${PACKAGE}.ReadResponse`,
      },
      {
        name: "Watch",
        inputType: `.${PACKAGE}.WatchRequest`,
        outputType: `.${PACKAGE}.ReadResponse`,
        serverStreaming: true,
      },
      {
        name: "DoCommand",
        inputType: ".viam.common.v1.DoCommandRequest",
        outputType: ".viam.common.v1.DoCommandResponse",
      },
    ],
  }],
});

/** The service, made from its description as a server makes it that learns it by reflection. */
export const GaugeService: DescService = (() => {
  const registry = createFileRegistry(
    file,
    (name) => name === COMMON ? file_viam_common_v1_common : undefined,
  );
  return registry.getService(`${PACKAGE}.GaugeService`)!;
})();

/** What a client of the service offers. */
export interface GaugeClient {
  read(request: { name: string; unit?: string }): Promise<{ value: number; note: string }>;
  watch(request: { name: string; count: number }): AsyncIterable<{ value: number }>;
  doCommand(request: { name: string; command: JsonObject }): Promise<{ result?: JsonObject }>;
}

/** A client of the gauges behind `transport`. */
export function gaugeOf(transport: Transport): GaugeClient {
  return createClient(GaugeService, transport) as unknown as GaugeClient;
}
