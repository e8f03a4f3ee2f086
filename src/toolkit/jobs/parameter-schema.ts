// parameterValues against a recipe's published JSON Schema, with its references and nothing fetched (docs/contract.md, 2.2 and 4.2).
import { Ajv2020 } from "ajv/dist/2020.js";
import type { JsonObject } from "../../contract/json.ts";
import type { FieldError } from "../../contract/problem.ts";
import type { RecipeParameters } from "../../contract/recipes.ts";
import { json, quote, word } from "../../outside.ts";

/** Ajv's sentence, where it names what the schema says: the schema is the service's. */
function sentence(message: string, params: Readonly<Record<string, unknown>>): string {
  let said = message;
  for (const value of Object.values(params)) {
    if (typeof value !== "string" || word(value) === value) continue;
    const written = [`'${value}'`, `"${value}"`, value].find((form) => said.includes(form));
    if (written !== undefined) said = said.replace(written, () => quote(value));
  }
  return said;
}

/** The one dialect that is judged here, also where none is named (doubt 19). */
const JSON_SCHEMA_2020_12 = /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;

const isJudgeable = ({ $schema = "" }: JsonObject): boolean =>
  $schema === "" || (typeof $schema === "string" && JSON_SCHEMA_2020_12.test($schema));

/** Violations of the published parameter schema; none when the schema itself cannot be used: then the service judges alone. */
export function parameterErrors(parameters: RecipeParameters, values: JsonObject): FieldError[] {
  if (![parameters.definition, ...Object.values(parameters.references)].every(isJudgeable)) return [];
  const ajv = new Ajv2020({ allErrors: true, strict: false, validateFormats: false, addUsedSchema: false });
  try {
    for (const [id, schema] of Object.entries(parameters.references)) ajv.addSchema({ ...schema }, id);
    const { $schema: _, ...definition } = parameters.definition;
    const validate = ajv.compile(definition);
    if (validate(values)) return [];
    return (validate.errors ?? []).slice(0, 100).map(({ instancePath, keyword, message, params }) => {
      const named = "additionalProperty" in params ? `: ${word(String(params["additionalProperty"]))}` : "";
      const allowed = "allowedValues" in params ? `: ${json(params["allowedValues"])}` : "";
      return {
        pointer: `/parameterValues${instancePath}`,
        code: keyword.toUpperCase(),
        message: `${sentence(message ?? "is not valid", params)}${named}${allowed}`.slice(0, 1000),
      };
    });
  } catch {
    return [];
  }
}
