// Validates results for the SDKs' clients. Compiling a schema takes longer than most calls, so all clients of a process share the compiled ones.
import { AjvJsonSchemaValidator as ModernValidator } from "@modelcontextprotocol/client/validators/ajv";
import { AjvJsonSchemaValidator as OlderValidator } from "@modelcontextprotocol/sdk/validation/ajv";

type Schema = Parameters<OlderValidator["getValidator"]>[0];
const schemas = new Map<string, Schema>();
/** Returns the first schema with this content. A validator compiles each object once, so all clients of a worker share the compiled schemas. */
function firstEqual(schema: Schema): Schema {
  const text = JSON.stringify(schema);
  const first = schemas.get(text) ?? schema;
  schemas.set(text, first);
  return first;
}
/** For clients of the 1.x SDK. */
export const olderValidator = new (class extends OlderValidator {
  override getValidator<T>(schema: Schema) {
    return super.getValidator<T>(firstEqual(schema));
  }
})();
/** For clients of the 2.x SDK. */
export const modernValidator = new (class extends ModernValidator {
  override getValidator<T>(schema: Schema) {
    return super.getValidator<T>(firstEqual(schema));
  }
})();
