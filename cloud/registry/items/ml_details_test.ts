import assert from "node:assert/strict";
import { uploadedDetails } from "./ml_details.ts";

Deno.test("uploadedDetails() knows types and frameworks however they are written, and no others", () => {
  assert.deepEqual(
    uploadedDetails({ model_type: "object_detection", model_framework: "tflite", draft: true }),
    {
      modelType: "MODEL_TYPE_OBJECT_DETECTION",
      modelFramework: "MODEL_FRAMEWORK_TFLITE",
      draft: true,
    },
  );
  assert.deepEqual(uploadedDetails({ model_type: "MODEL_TYPE_SINGLE_LABEL_CLASSIFICATION" }), {
    modelType: "MODEL_TYPE_SINGLE_LABEL_CLASSIFICATION",
  });
  const odd = { model_type: "segmentation", model_framework: 3, draft: false, toString: "0" };
  assert.deepEqual(uploadedDetails(odd), {});
});
