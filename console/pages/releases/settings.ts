import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  Rollout,
  RolloutSettingsSchema,
} from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";

/** Who gets a release, as the form holds it. */
export interface WhomForm {
  whom: "all" | "some";
  percent: string;
  tags: string;
  stopPercent: string;
  stopMinimum: string;
}

/** The form of a rollout; without one, of what a careful first step would be. */
export function toForm(rollout: Rollout | undefined): WhomForm {
  return {
    whom: rollout ? "some" : "all",
    percent: String(rollout?.percent ?? 10),
    tags: rollout?.tags.join(", ") ?? "",
    stopPercent: String(rollout?.stopPercent ?? 10),
    stopMinimum: String(rollout?.stopMinimum ?? 1),
  };
}

/** What a form requests; undefined: everybody on the channel. */
export function toSettings(
  { whom, percent, tags, stopPercent, stopMinimum }: WhomForm,
): MessageInitShape<typeof RolloutSettingsSchema> | undefined {
  if (whom === "all") return undefined;
  return {
    percent: Number(percent),
    tags: tags.split(/[\s,]+/).filter((tag) => tag !== ""),
    stopPercent: Number(stopPercent),
    stopMinimum: Number(stopMinimum),
  };
}
