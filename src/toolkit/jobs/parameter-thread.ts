// This worker thread validates parameterValues against a recipe's published JSON Schema and its references, and fetches nothing
// (docs/contract.md, 2.2 and 4.2). offer-validation.ts starts it, limits its time and memory, and stops it.
import { parentPort } from "node:worker_threads";
import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import type { JsonObject } from "../../contract/json.ts";
import type { FieldError } from "../../contract/problem.ts";
import type { RecipeParameters } from "../../contract/recipes.ts";
import { BoundedMap } from "../../core/bounded-map.ts";
import { formatJson, formatToken, isCode, quote } from "../../core/untrusted-text.ts";

export interface ParameterCheck {
  readonly parameters: RecipeParameters;
  readonly values: JsonObject;
}

type Violation = Pick<ErrorObject, "keyword" | "message" | "params">;

/** Writes the messages that contain text of the schema or the values, which is untrusted and thus quoted. The others are those of Ajv. */
function messageOf({ keyword, message = "is not valid", params }: Violation): string {
  const text = (name: string): string => String(params[name]);
  switch (keyword) {
    case "required": {
      const missing = text("missingProperty");
      return `must have required property ${isCode(missing) ? `'${missing}'` : quote(missing)}`;
    }
    case "additionalProperties":
      return `${message}: ${quote(text("additionalProperty"))}`;
    case "enum":
      return `${message}: ${formatJson(params["allowedValues"])}`;
    case "pattern":
      return `must match pattern ${quote(text("pattern"))}`;
    case "dependencies":
    case "dependentRequired": {
      const [missing, present] = [text("missingProperty"), text("property")].map((name) => formatToken(name));
      return `must have property ${missing} when property ${present} is present`;
    }
    default:
      return message;
  }
}

/** The only dialect that is validated here. It also applies if a schema names no dialect (open question 19). */
const JSON_SCHEMA_2020_12 = /^https?:\/\/json-schema\.org\/draft\/2020-12\/schema#?$/;

const hasKnownDialect = ({ $schema = "" }: JsonObject): boolean =>
  $schema === "" || (typeof $schema === "string" && JSON_SCHEMA_2020_12.test($schema));

/**
 * Maximum length of a pattern in characters. V8 compiles a regular expression without interruption, in memory that the limits of a thread
 * do not cover. A pattern of 64 KiB takes 0.4 s and 150 MB.
 */
const MAX_PATTERN_LENGTH = 1_000;

function boundedRegExp(pattern: string, flags: string): RegExp {
  if (pattern.length > MAX_PATTERN_LENGTH) throw new Error("the pattern is too long");
  return new RegExp(pattern, flags);
}

const SETTINGS = { strict: false, validateFormats: false, logger: false } as const;
/** Compiles the meta-schema once for all checks. */
const metaSchema = new Ajv2020(SETTINGS);

/** Throws if the schema cannot be used. */
function compile({ definition: published, references }: RecipeParameters): ValidateFunction {
  if (![published, ...Object.values(references)].every(hasKnownDialect)) throw new Error("the dialect is not known");
  const { $schema: _, ...definition } = published;
  if (![definition, ...Object.values(references)].every((schema) => metaSchema.validateSchema(schema)))
    throw new Error("this is not a valid schema");
  const ajv = new Ajv2020({
    ...SETTINGS,
    allErrors: true,
    addUsedSchema: false,
    validateSchema: false,
    code: { regExp: Object.assign(boundedRegExp, { code: "boundedRegExp" }) },
  });
  for (const [id, schema] of Object.entries(references)) ajv.addSchema({ ...schema }, id);
  const validate = ajv.compile(definition);
  // "$async" is a keyword that only Ajv has; with it, the validation would return a promise.
  if ("$async" in validate) throw new Error("the schema is asynchronous");
  return validate;
}

/** Maximum number of compiled schemas. A schema has at most 64 KiB of text, and the memory of this thread is limited. */
const MAX_COMPILED = 16;
/** Compiled schemas by their text. Compiling a schema takes far longer than validating values. */
const compiledSchemas = new BoundedMap<string, ValidateFunction>(MAX_COMPILED);

function getOrCompile(parameters: RecipeParameters): ValidateFunction {
  const text = JSON.stringify(parameters);
  const validate = compiledSchemas.get(text) ?? compile(parameters);
  compiledSchemas.set(text, validate);
  return validate;
}

/** Returns the violations of the published parameter schema; none if the schema cannot be used. */
function findParameterErrors({ parameters, values }: ParameterCheck): FieldError[] {
  try {
    const validate = getOrCompile(parameters);
    if (validate(values)) return [];
    return (validate.errors ?? []).slice(0, 100).map((error) => ({
      pointer: `/parameterValues${error.instancePath}`.slice(0, 512),
      code: error.keyword.toUpperCase(),
      message: messageOf(error).slice(0, 1000),
    }));
  } catch {
    return [];
  }
}

// The first message: this thread is loaded.
parentPort?.postMessage("ready");
parentPort?.on("message", (check: ParameterCheck) => parentPort?.postMessage(findParameterErrors(check)));
