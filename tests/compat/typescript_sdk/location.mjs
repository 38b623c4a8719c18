// Prints where the SDK's module for browsers is, as JSON.
const main = import.meta.resolve("@viamrobotics/sdk");
// deno-lint-ignore no-console
console.log(JSON.stringify({ folder: new URL("./", main).href }));
