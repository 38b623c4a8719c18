// What tools/console/catalogue.ts makes at the build.
declare module "virtual:machine-catalogue" {
  const catalogue: {
    /** JSON Schema of a machine configuration. */
    readonly config: import("./configuration/schema.ts").JsonSchema;
    readonly models: readonly {
      readonly api: string;
      readonly model: string;
      readonly attribute_schema: import("./configuration/schema.ts").JsonSchema;
    }[];
  };
  export default catalogue;
}
