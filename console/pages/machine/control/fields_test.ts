import assert from "node:assert/strict";
import { type DescMessage, toJson } from "@bufbuild/protobuf";
import { BoardService } from "../../../../shared/gen/viam/component/board/v1/board_pb.ts";
import { BaseService } from "../../../../shared/gen/viam/component/base/v1/base_pb.ts";
import { MotorService } from "../../../../shared/gen/viam/component/motor/v1/motor_pb.ts";
import { ArgumentError, argumentsOf, requestOf } from "./fields.ts";
import { knownService, SERVICES } from "./services.ts";

Deno.test("a form has the arguments of a method, but not the resource's name", () => {
  assert.deepEqual(argumentsOf(BoardService.method.setGPIO.input).slice(0, 2), [
    { key: "pin", label: "pin", kind: "text" },
    { key: "high", label: "high", kind: "boolean" },
  ]);
  const [linear] = argumentsOf(BaseService.method.setPower.input);
  assert.equal(linear?.kind, "json");
  assert.deepEqual(linear?.kind === "json" && JSON.parse(linear.example), { x: 0, y: 0, z: 0 });
});

Deno.test("what is typed becomes the request", () => {
  const { input } = BaseService.method.moveStraight;
  const request = requestOf(input, "b", { distanceMm: "9007199254740993", mmPerSec: "1.5" });
  assert.deepEqual(toJson(input, request), {
    ...{ name: "b", distanceMm: "9007199254740993", mmPerSec: 1.5 },
  });
  const board = BoardService.method.readAnalogReader.input;
  assert.deepEqual(toJson(board, requestOf(board, "io", { analogReaderName: "a0" })), {
    ...{ boardName: "io", analogReaderName: "a0" },
  });
});

Deno.test("what cannot be read is refused, with its field", () => {
  const refused = (input: DescMessage, typed: Record<string, string>): string => {
    try {
      requestOf(input, "x", typed);
    } catch (error) {
      if (error instanceof ArgumentError) return `${error.kind} ${error.field}`;
      throw error;
    }
    return "taken";
  };
  assert.equal(refused(MotorService.method.goFor.input, { rpm: "fast" }), "number rpm");
  const { moveStraight, setPower } = BaseService.method;
  assert.equal(refused(moveStraight.input, { distanceMm: "1.5" }), "number distance_mm");
  assert.equal(refused(setPower.input, { linear: "{" }), "json linear");
  assert.equal(refused(setPower.input, { linear: '{"w":1}' }), "whole ");
});

Deno.test("every method of every API has a form, whose examples can be sent", async () => {
  for (const api of Object.keys(SERVICES)) {
    const service = await knownService(api);
    assert.ok(service, api);
    for (const { input } of service.methods) {
      const excluded = input.oneofs.flatMap(({ fields }) => fields.slice(1).map((f) => f.jsonName));
      const typed = Object.fromEntries(
        argumentsOf(input).flatMap((each) =>
          each.kind === "json" && !excluded.includes(each.key) ? [[each.key, each.example]] : []
        ),
      );
      assert.ok(requestOf(input, "x", typed), `${api} ${input.typeName}`);
    }
  }
});
