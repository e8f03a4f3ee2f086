// Tests that the emulator checks each field of each operation over HTTP, docs/contract.md, 4. contract/fields.test.ts tries all
// values on the schemas that it uses, so one invalid value shows that the emulator uses them; tools/arguments.test.ts sends valid ones.
import { expect, test } from "vitest";
import { idKindOf } from "../../src/api-client/id-kinds.ts";
import { changeAt, withoutKey } from "../contract/check.ts";
import { badValues, type Field, fieldsOf, headersOf } from "../fields.ts";
import { type ListedOperation, operations, postIds, rows } from "../operations.ts";
import { createRequest, exampleDataForFile } from "./example.ts";
import { expectPlaygroundError, expectProblem } from "./http.ts";
import { type Parts, serviceForFile } from "./service.ts";

const service = serviceForFile();
const exampleData = exampleDataForFile(service);

const POINTERS = { path: "/path/", query: "/query/", header: "/header/", body: "/" } as const;
const pointerTo = ({ location = "body", name }: Field): string => POINTERS[location] + name.replaceAll(".", "/");

const toObject = (value: unknown): Readonly<Record<string, unknown>> => ({ ...Object(value) });

/** The request with an invalid value of the field: of any kind in a body, and elsewhere a text that a URL or a header carries unchanged. */
function withInvalidValue(parts: Parts, { location = "body", name, values }: Field): Parts | undefined {
  const isText = (one: unknown) => typeof one === "string" && /^[!-.:-~][!-~]*$/.test(one) && !/^\.{1,2}$/.test(one);
  const value = badValues(values).find((one) => location === "body" || (isText(one) && String(one).length < 8000));
  if (value === undefined) return undefined;
  if (location === "header") return { ...parts, headers: { [name.toLowerCase()]: String(value) } };
  if (location !== "body") return { ...parts, [location]: { ...toObject(parts[location]), [name]: value } };
  const body = name.includes(".") ? parts.body : { [name]: null, ...toObject(parts.body) };
  return { ...parts, body: changeAt(body, name.split("."), () => value) };
}

async function expectRefused(row: ListedOperation, parts: Parts, pointer: string, what: string): Promise<void> {
  const answer = await service().call(row, parts);
  if (row.scopes.length === 0) {
    expectPlaygroundError(answer, 400, "INVALID_PLAYGROUND_REQUEST");
    return;
  }
  const { code, fieldErrors } = expectProblem(answer, 400);
  expect(code, what).toBe("INVALID_REQUEST");
  const pointers = fieldErrors.map((one) => one.pointer);
  expect(
    pointers.filter((one) => one.startsWith(pointer)),
    `${what} is refused at ${pointers.join(" ")}`,
  ).not.toEqual([]);
}

test.each(rows.flatMap((row) => [...fieldsOf(row), ...headersOf(row)].map((field) => ({ row, field }))))(
  "$row.id refuses an invalid value in the $field.location field $field.name, and the request has no effect",
  async ({ row, field }) => {
    const parts = await createRequest(await exampleData(), row.id);
    const executions = () => service().admin("GET", "executions");
    const before = await executions();
    const invalid = withInvalidValue(parts, field);
    expect(invalid, "a value that can be sent").toBeDefined();
    if (invalid) await expectRefused(row, invalid, pointerTo(field), field.name);
    if (field.location === "body" && !field.isOptional) {
      const [name = "", ...outer] = field.name.split(".").reverse();
      const body = changeAt(parts.body, outer.reverse(), withoutKey(name));
      await expectRefused(row, { ...parts, body }, pointerTo(field), `no ${field.name}`);
    }
    expect(await executions()).toEqual(before);
  },
);

test("a body with an unknown field, and one that is not an object, is refused", {
  tags: ["4.2/bodies-closed", "7.2/bounds-refused", "4.2/job-no-defaults-no-plan"],
}, async () => {
  for (const id of postIds) {
    const parts = await createRequest(await exampleData(), id);
    const expectRefusal = (body: unknown, pointer = "") =>
      expectRefused(operations[id], { ...parts, body }, pointer, `${id} ${JSON.stringify(body).slice(0, 120)}`);
    for (const extra of ["plan", "id", ""]) await expectRefusal({ ...toObject(parts.body), [extra]: "x" }, `/${extra}`);
    await expectRefusal(JSON.stringify(parts.body).replace("{", '{"__proto__":{"a":1},'), "/__proto__");
    for (const text of ["null", "[]", '"text"', "5", "true", "{}"]) await expectRefusal(text);
  }
});

test("a query with an unknown, missing or repeated parameter is refused", {
  tags: ["4.1/closed-query", "4.2/closed-query"],
}, async () => {
  for (const row of rows) {
    const parts = await createRequest(await exampleData(), row.id);
    const pairs = Object.entries(toObject(parts.query)).map(([name, value]) => `${name}=${String(value)}`);
    const wrong = pairs.flatMap((one) => [[...pairs, one], pairs.filter((other) => other !== one)]);
    for (const query of [...["unexpected=1", "unexpected", "__proto__=1"].map((extra) => [...pairs, extra]), ...wrong])
      await expectRefused(row, { ...parts, query: query.join("&") }, "/query", query.join("&"));
  }
});

test.each(rows)("the ids in the path of $id begin with a prefix of their kind", async ({ id }) => {
  const { path = {} } = await createRequest(await exampleData(), id);
  for (const [name, value] of Object.entries(path)) {
    const prefix = idKindOf(name)?.prefixes.find((each) => value.startsWith(each));
    expect(prefix, `correct the prefixes of ${name} in src/api-client/id-kinds.ts: ${value}`).toBeDefined();
  }
});

test("each optional parameter changes the answer of a list, and an answer repeats the fields of the body that it has", async () => {
  for (const row of rows)
    for (const place of [0, -1]) {
      const parts = await createRequest(await exampleData(), row.id);
      const optional = fieldsOf(row).filter(({ name, isOptional }) => isOptional && name !== "cursor");
      const answerTo = async (changed: Parts) => JSON.parse((await service().call(row, { ...parts, ...changed })).text);
      for (const { name, values } of optional.filter(({ location }) => location === "query")) {
        const queries = values.accepts.map((value) => ({
          query: Object.assign({}, parts.query, { [name]: String(value) }),
        }));
        const answers = new Set((await Promise.all(queries.map(answerTo))).map(({ data }) => JSON.stringify(data)));
        if (queries.length > 1) expect(answers.size, `${row.id} ignores ${name}`).toBeGreaterThan(1);
      }
      if (row.method === "GET") continue;
      const given = optional.map(({ name, values }) => [name, values.accepts.at(place)]);
      const body = { ...toObject(parts.body), ...Object.fromEntries(given) };
      const { data } = await answerTo({ body });
      const repeated = Object.entries(body).filter(([name]) => name in data);
      expect(data, row.id).toMatchObject(Object.fromEntries(repeated));
    }
});
