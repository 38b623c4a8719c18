import { sensor, testSaving } from "./testing.ts";

testSaving([
  // Names.
  { what: "name of 60", json: { components: [sensor("n".repeat(60))] }, paths: [] },
  {
    what: "name of 61",
    json: { components: [sensor("n".repeat(61))] },
    paths: ["components[0].name"],
  },
  { what: "name with space", json: { components: [sensor("a b")] }, paths: ["components[0].name"] },
  { what: "name with colon", json: { components: [sensor("a:b")] }, paths: ["components[0].name"] },
  { what: "name with plus", json: { components: [sensor("a+b")] }, paths: ["components[0].name"] },
  {
    what: "name with dash first",
    json: { components: [sensor("-a")] },
    paths: ["components[0].name"],
  },
  {
    what: "name missing",
    json: { components: [sensor(undefined)] },
    paths: ["components[0].name"],
  },
  { what: "name a number", json: { components: [sensor(1)] }, paths: ["components[0].name"] },
  { what: "service without name", json: { services: [{ type: "motion" }] }, paths: [] },
  {
    what: "same name, same API",
    json: { components: [sensor("a"), sensor("a")] },
    paths: ["components[1].name"],
  },
  {
    what: "same name, old and new form of one API",
    json: { components: [sensor("a"), { name: "a", type: "sensor", model: "fake" }] },
    paths: ["components[1].name"],
  },
  {
    what: "same name, and another problem",
    json: { components: [sensor("a"), sensor("a", { log_configuration: { level: "loud" } })] },
    paths: ["components[1].log_configuration.level"],
  },
  {
    what: "same name, other API",
    json: { components: [sensor("a"), sensor("a", { api: "rdk:component:generic" })] },
    paths: [],
  },
  // API and model.
  {
    what: "old form of API",
    json: { components: [{ name: "a", namespace: "rdk", type: "sensor", model: "fake" }] },
    paths: [],
  },
  {
    what: "no API",
    json: { components: [{ name: "a", model: "fake" }] },
    paths: ["components[0].api"],
  },
  {
    what: "API of one word",
    json: { components: [sensor("a", { api: "sensor" })] },
    paths: ["components[0].api"],
  },
  {
    what: "API of two words",
    json: { components: [sensor("a", { api: "rdk:sensor" })] },
    paths: ["components[0].api"],
  },
  { what: "model of one word", json: { components: [sensor("a", { model: "fake" })] }, paths: [] },
  {
    what: "model as object",
    json: { components: [sensor("a", { model: { name: "fake" } })] },
    paths: [],
  },
  {
    what: "model of two words",
    json: { components: [sensor("a", { model: "acme:x" })] },
    paths: ["components[0].model"],
  },
  {
    what: "no model",
    json: { components: [sensor("a", { model: undefined })] },
    paths: ["components[0].model"],
  },
  {
    what: "model a number",
    json: { components: [sensor("a", { model: 5 })] },
    paths: ["components[0].model"],
  },
  // Other fields of resources.
  {
    what: "attributes a list",
    json: { components: [sensor("a", { attributes: [] })] },
    paths: ["components[0].attributes"],
  },
  {
    what: "level in any case",
    json: { components: [sensor("a", { log_configuration: { level: "Debug" } })] },
    paths: [],
  },
  {
    what: "level unknown",
    json: { components: [sensor("a", { log_configuration: { level: "loud" } })] },
    paths: ["components[0].log_configuration.level"],
  },
  {
    what: "frame",
    json: {
      components: [
        sensor("a", {
          frame: {
            parent: "world",
            translation: { x: 1 },
            orientation: { type: "ov_degrees", value: { x: 0, y: 0, z: 1, th: 90 } },
            geometry: { type: "box", x: 1, y: 1, z: 1 },
          },
        }),
      ],
    },
    paths: [],
  },
  {
    what: "orientation of unknown type",
    json: { components: [sensor("a", { frame: { orientation: { type: "spin" } } })] },
    paths: ["components[0].frame.orientation.type"],
  },
  {
    what: "orientation vector of zeros",
    json: {
      components: [
        sensor("a", { frame: { orientation: { type: "ov_degrees", value: { th: 1 } } } }),
      ],
    },
    paths: ["components[0].frame.orientation.value"],
  },
  {
    what: "orientation without value",
    json: { components: [sensor("a", { frame: { orientation: { type: "quaternion" } } })] },
    paths: ["components[0].frame.orientation.value"],
  },
  {
    what: "geometry of negative size",
    json: { components: [sensor("a", { frame: { geometry: { r: -1 } } })] },
    paths: ["components[0].frame.geometry.r"],
  },
  {
    what: "translation a text",
    json: { components: [sensor("a", { frame: { translation: { x: "1" } } })] },
    paths: ["components[0].frame.translation.x"],
  },
  // Dependencies.
  {
    what: "dependency by short and full name",
    json: {
      components: [sensor("a"), sensor("b", { depends_on: ["a", "rdk:component:sensor/a"] })],
    },
    paths: [],
  },
  {
    what: "component depends on service",
    json: {
      components: [sensor("a", { depends_on: ["s"] })],
      services: [{ name: "s", type: "vision", model: "x" }],
    },
    paths: [],
  },
  {
    what: "dependency unknown",
    json: { components: [sensor("a", { depends_on: ["a2", "nope"] }), sensor("a2")] },
    paths: ["components[0].depends_on[1]"],
  },
  {
    what: "dependency may come from a fragment",
    json: { fragments: ["f"], components: [sensor("a", { depends_on: ["x"] })] },
    paths: [],
  },
  {
    what: "dependency may come from a remote",
    json: {
      remotes: [{ name: "r", address: "h:1" }],
      components: [sensor("a", { depends_on: ["r:x", "y"] })],
    },
    paths: [],
  },
  {
    what: "dependency on an entry with another problem",
    json: { components: [sensor("a", { attributes: 1 }), sensor("b", { depends_on: ["a"] })] },
    paths: ["components[0].attributes"],
  },
  {
    what: "dependency on itself",
    json: { components: [sensor("a", { depends_on: ["a"] })] },
    paths: ["components[0].depends_on"],
  },
  {
    what: "dependency cycle",
    json: {
      components: [
        sensor("x"),
        sensor("a", { depends_on: ["b"] }),
        sensor("b", { depends_on: ["a"] }),
      ],
    },
    paths: ["components[1].depends_on"],
  },
  {
    what: "dependency built in",
    json: {
      components: [sensor("a", { depends_on: ["framesystem", "rdk:service:motion/builtin"] })],
    },
    paths: [],
  },
]);
