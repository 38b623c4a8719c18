import { attributes, integer, optional, text } from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { BuiltinEnvironment } from "../environment.ts";
import type { MlModelAttributes } from "./ml_model_attributes.ts";

/** Model `rdk:builtin:tflite_cpu` of `rdk:service:mlmodel`: runs a file of TensorFlow Lite. */
export function mlModelModel(
  environment: Pick<BuiltinEnvironment, "clock" | "subprocess">,
): Model<MlModelAttributes> {
  return {
    api: "rdk:service:mlmodel",
    model: "rdk:builtin:tflite_cpu",
    triedWith: "models that a machine-cloud trained, and files that are no model",
    attributes: attributes<MlModelAttributes>({
      model_path: text(
        "A .tflite file, for example ${packages.ml_model.NAME}/NAME.tflite of a model package.",
      ),
      label_path: optional(text("A text with the name of a class in each line. Default: none.")),
      num_threads: optional(integer(
        "Taken from other configurations; the model always runs on one thread.",
        { min: 1 },
      )),
      package_reference: optional(text(
        "Taken from other configurations; model_path alone says which file it is.",
      )),
    }),
    async construct({ attributes, log }) {
      if ((attributes.num_threads ?? 1) > 1) {
        log.warn("num_threads has no effect: the model runs on one thread");
      }
      const { createMlModel } = await import("./ml_model.ts");
      return await createMlModel(attributes, environment);
    },
  };
}
