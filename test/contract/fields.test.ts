// Compares each field of the tables of docs/contract.md with its schema: the rule in the words of the page, and values at the bounds.
import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import * as z from "zod/v4";
import { API_PREFIX, TOKEN_PATH } from "../../src/contract/endpoints/endpoint.ts";
import { endpoints } from "../../src/contract/endpoints/index.ts";
import { envelope, jobPage, micEnvelope, recipePage } from "../../src/contract/envelope.ts";
import { Job } from "../../src/contract/jobs.ts";
import { toJsonSchema } from "../../src/contract/json.ts";
import { OpenApiDocument } from "../../src/contract/playground.ts";
import { RecipeOffer } from "../../src/contract/recipes.ts";
import { ajv, changeAt, createCheck, type Path, withKey, withoutKey } from "./check.ts";
import { grammarOf, isNullable, isOptional, plain, sampleOf } from "./grammars.ts";
import { type PageField, pageFields, pageOperations, pageScopes } from "./page.ts";

const CONTRACT = new URL("../../src/contract/", import.meta.url);
const modules = await Promise.all(
  [...readdirSync(CONTRACT), "endpoints/bodies.ts"]
    .filter((file) => file.endsWith(".ts"))
    .map(async (file): Promise<object> => await import(new URL(file, CONTRACT).href)),
);
/** The name of each schema that src/contract exports, which is also its name in the page. */
const names = new Map<unknown, string>(
  modules.flatMap((members) => Object.entries(members).map(([name, member]): [unknown, string] => [member, name])),
);
const resource = z.strictObject({ id: z.string() });
names.set(resource, "the resource");

const schemas = new Map<string, z.ZodType>([
  ...[...names].flatMap(([schema, name]) => (schema instanceof z.ZodType ? [[name, schema] as const] : [])),
  ["Envelope", envelope(resource)],
  ["EnvelopeOfRecipe", micEnvelope(resource)],
  ["JobList", jobPage(Job)],
  ["RecipeList", recipePage(RecipeOffer)],
  ...endpoints.flatMap(({ id, method, path, pathParameters, query, body }) => [
    [`${id} path`, pathParameters] as const,
    [`${id} query`, query] as const,
    ...(body ? [[`${method} ${path}`, body] as const] : []),
  ]),
]);

/** Returns the schema at the path of a field: `meta.requestId`, `inputBindings[].port`. */
function schemaAt(schema: z.ZodType, name: string): z.ZodType {
  const found = name.split(/\.|(?=\[)/).reduce<unknown>((outer, key) => {
    const inner = outer instanceof z.ZodType ? plain(outer) : undefined;
    return inner instanceof z.ZodObject ? inner.shape[key] : inner instanceof z.ZodArray ? inner.element : undefined;
  }, schema);
  if (found instanceof z.ZodType) return found;
  throw new Error(`the schema has no ${name}`);
}
const pathTo = (name: string): Path => name.replaceAll("[]", ".0").split(".");

/** The page's fields of a resource, with those that it shares with others. */
function fieldsOf(owner: string): readonly PageField[] {
  const fields = (of: string) => pageFields.get(of) ?? [];
  return (/Response$/.test(owner) ? fields("CatalogMetadata") : []).concat(fields(owner)).map((field) => {
    const other = /as on (\w+)/.exec(field.text)?.[1];
    const text = fields(other ?? "").find(({ name }) => name === field.name)?.text ?? field.text;
    return { ...field, text };
  });
}

/** The contract shows no format of some ids in a path: they have 1-128 characters, like every id field (open question 6). */
const ANY_ID = { type: "string", minLength: 1, maxLength: 128 };

/** What the page must say about a schema. */
function rulesOf(schema: z.ZodType, hasOwnRow: boolean): readonly RegExp[] {
  const inner = plain(schema);
  if (!(inner instanceof z.ZodArray) || !(inner.element instanceof z.ZodType))
    return inner instanceof z.ZodObject ? [new RegExp(`^${names.get(inner)}\\b`)] : [grammarOf(schema).rule];
  const name = names.get(inner.element) ?? "string";
  const ofItem = inner.element instanceof z.ZodObject || hasOwnRow ? [] : [grammarOf(inner.element).rule];
  return [grammarOf(schema).rule, new RegExp(`\\barray of ${name}\\b`), ...ofItem];
}

const CLOSED = {
  tags: [
    "2.1/closed-objects",
    "2.2/closed-objects",
    "2.2/all-fields-required",
    "4.2/closed-query",
    "4.2/bodies-closed",
  ],
};

for (const owner of pageFields.keys()) {
  const schema = schemas.get(owner) ?? z.never();
  const check = createCheck(schema);
  const fields = fieldsOf(owner);
  const sample = sampleOf(schema);

  for (const { name, text, rules: tags } of fields)
    test(`${owner}: ${name}`, { tags: [...tags] }, () => {
      const field = schemaAt(schema, name);
      const hasItemRow = fields.some((other) => other.name === `${name}[]`);
      if (text === "format not shown") expect(toJsonSchema(field, "output")).toEqual(ANY_ID);
      else
        for (const rule of rulesOf(field, hasItemRow)) {
          const remedy = hasItemRow ? "" : `, or give the items of a list a row ${name}[]`;
          expect(text, `docs/contract.md, ${owner}: word the rule of ${name} as other rows do${remedy}`).toMatch(rule);
        }
      expect([isOptional(field), isNullable(field)]).toEqual([/\boptional\b/.test(text), /\bnull\b/.test(text)]);
      expect(check.grammar(grammarOf(field), sample, pathTo(name))).toEqual([]);
    });

  test(`${owner} has exactly its fields`, CLOSED, () => {
    expect(check.accepts(sample)).toEqual([]);
    const paths = fields.filter(({ name }) => !name.endsWith("[]")).map(({ name }) => pathTo(name));
    const outer = new Set(["", ...paths.flatMap((path) => (path.length > 1 ? [path.slice(0, -1).join(".")] : []))]);
    for (const prefix of outer) {
      const level = prefix === "" ? [] : prefix.split(".");
      const isIn = (path: Path) => path.length > level.length && path.slice(0, level.length).join(".") === prefix;
      const own = new Set(paths.filter(isIn).map((path) => path[level.length] ?? ""));
      changeAt(sample, level, (object) => expect(new Set(Object.keys(Object(object)))).toEqual(own));
      for (const key of own) {
        const rest = changeAt(sample, level, withoutKey(key));
        const at = [...level, key];
        const isLeft = isOptional(schemaAt(schema, at.join(".").replaceAll(".0", "[]")));
        expect(isLeft ? check.accepts(rest) : check.refuses(rest, at)).toEqual([]);
      }
      for (const key of ["extra", "ID", "__proto__", "constructor", "toString", ""])
        expect(check.refuses(changeAt(sample, level, withKey(key)), level)).toEqual([]);
    }
    expect([null, [], [sample], "{}", 1, true].filter((value) => schema.safeParse(value).success)).toEqual([]);
  });
}

test("each resource has a table in the page", () => {
  const others = /^(Create\w+|CancelJob|RetryJob|InputBinding|PlaygroundError|OpenApiDocument|the resource)$/;
  const objects = [...names].flatMap(([schema, name]) => (schema instanceof z.ZodObject ? [name] : []));
  expect(objects.filter((name) => !others.test(name) && !pageFields.has(name))).toEqual([]);
});

test("an operation takes only the parameters and the body of the page, and its path names its parameters", {
  tags: ["4.1/closed-query", "4.2/closed-query"],
}, () => {
  for (const { id, method, path, pathParameters, query, body } of endpoints) {
    const listed = (part: string) => (pageFields.get(part) ?? []).map(({ name }) => name);
    expect(Object.keys(query.shape), id).toEqual(listed(`${id} query`));
    expect([body !== undefined, pageFields.has(`${method} ${path}`)], id).toEqual(Array(2).fill(method === "POST"));
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    expect([named, Object.keys(pathParameters.shape)]).toEqual([listed(`${id} path`), listed(`${id} path`)]);
  }
});

test("the endpoints are the operations of the page, with its scopes, paths, statuses and bodies", {
  tags: ["4.1/operation-ids", "4.2/base-path"],
}, () => {
  const jsonSchemaOf = (answer: string) => {
    const [, inner = ""] = /^Envelope of (\w+)$/.exec(answer) ?? [];
    const wrap = ["RecipeOffer", "ProcessingRequest"].includes(inner) ? micEnvelope : envelope;
    const schema = inner === "" ? schemas.get(answer) : wrap(schemas.get(inner) ?? z.never());
    return schema && toJsonSchema(schema, "output");
  };
  const listed = endpoints.map(({ id, api, method, path, scopesToRequest, success: { status, body } }) => {
    expect(pageScopes.has(scopesToRequest.join(" ")), id).toBe(api === "job-processing");
    const answer = body === "binary" || body === OpenApiDocument ? undefined : toJsonSchema(body, "output");
    return { id, method, path, scopes: scopesToRequest.toSorted(), status, answer };
  });
  expect(listed).toEqual(
    pageOperations.map(({ rules: _, scopes, answer, ...row }) => ({
      ...row,
      scopes: scopes.includes(":") ? scopes.split(", ").sort() : [],
      answer: jsonSchemaOf(answer),
    })),
  );
  expect(API_PREFIX).toEqual({ playground: "", "job-processing": "/sandbox" });
  expect(TOKEN_PATH).toBe("/sandbox/oauth/token");
});

test.each([...schemas])(
  "%s is a valid draft 2020-12 schema, and as an argument contains no union and no null",
  (_, schema) => {
    for (const io of ["input", "output"] as const) {
      const jsonSchema = toJsonSchema(schema, io);
      expect(jsonSchema).not.toHaveProperty("$schema");
      // Compiling validates the schema against the draft's meta-schema, and in strict mode against ajv's additional rules.
      expect(() => ajv.compile(jsonSchema)).not.toThrow();
      expect(JSON.parse(JSON.stringify(jsonSchema))).toEqual(jsonSchema);
    }
    const listing = JSON.stringify(toJsonSchema(schema, "input"));
    expect(listing).not.toMatch(/"(anyOf|oneOf|allOf|not|\$ref|nullable)":|"type":(\[|"null")/);
  },
);
