/** The answer that older clients of GetLocation read: the same fields have other types there. */
import { create, toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { GeoPointSchema } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import {
  type GetLocationResponse,
  GetLocationResponseSchema,
} from "../../../shared/gen/viam/service/navigation/v1/navigation_pb.ts";
import type { Spot } from "./kept.ts";

/** Field 1 holds a GeoPoint, field 2 the compass heading: no field of the message as it is now. */
export function globeLocation({ latitude, longitude, heading = 0 }: Spot): GetLocationResponse {
  const point = toBinary(GeoPointSchema, create(GeoPointSchema, { latitude, longitude }));
  const answer = create(GetLocationResponseSchema);
  answer.$unknown = [
    { no: 1, wireType: WireType.LengthDelimited, data: new BinaryWriter().bytes(point).finish() },
    { no: 2, wireType: WireType.Bit64, data: new BinaryWriter().double(heading).finish() },
  ];
  return answer;
}
