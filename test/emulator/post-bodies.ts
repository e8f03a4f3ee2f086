// Posting bodies with one part spoiled, for the tests of section 4.2's request bodies.
import { expect } from "vitest";
import { operations } from "../operations.ts";
import type { World } from "./example.ts";
import { expectProblem } from "./http.ts";
import { nextKey, type Service } from "./service.ts";
import { FILE, fileId, jobBody, processingBody, retryableJob } from "./work.ts";

export type Body = Readonly<Record<string, unknown>>;
export type PostId = "createMicJob" | "createMicPublicInput" | "requestMicSharedFileProcessing" | "retryMicJob";

export const postIds: readonly PostId[] = [
  "createMicJob",
  "createMicPublicInput",
  "requestMicSharedFileProcessing",
  "retryMicJob",
];

export function bodyPoster(service: () => Service, world: () => Promise<World>) {
  const bodies: Record<PostId, (of: World) => Body> = {
    createMicJob: ({ offer, inputId }) => ({ ...jobBody(service(), offer, inputId) }),
    createMicPublicInput: ({ workspaceId }) => ({
      workspaceId,
      inputKind: "M4_FILE",
      referenceId: fileId(service(), FILE.succeeds),
    }),
    requestMicSharedFileProcessing: ({ offer, sharedInputId }) => processingBody(service(), offer, sharedInputId),
    retryMicJob: () => ({ retryMode: "SAFE_RESUME", reason: "The fault has been mended" }),
  };

  const bodyOf = async (id: PostId): Promise<Body> => bodies[id](await world());

  async function post(id: PostId, change: (body: Body) => unknown, { key = nextKey(), jobId = "" } = {}) {
    const of = await world();
    const path = id === "retryMicJob" ? { path: { jobId: jobId || of.failedJobId } } : {};
    return service().call(operations[id], { ...path, key, body: change(bodies[id](of)) });
  }

  async function accepts(id: PostId, change: Body): Promise<void> {
    const jobId = id === "retryMicJob" ? (await retryableJob(service())).id : "";
    const answer = await post(id, (body) => ({ ...body, ...change }), { jobId });
    expect(answer.status, `${JSON.stringify(change)}: ${answer.text}`).toBe(operations[id].success);
  }

  /** Refused with a problem that points at the field, and without effect: 400 where the body alone shows what is wrong. */
  async function refuses(
    id: PostId,
    pointer: string,
    change: Body | ((body: Body) => unknown),
    status: 400 | 422 = 400,
  ): Promise<void> {
    const key = nextKey();
    const answer = await post(id, typeof change === "function" ? change : (body) => ({ ...body, ...change }), { key });
    const what = `${id} ${pointer} ${typeof change === "function" ? "" : JSON.stringify(change).slice(0, 200)}`;
    expect(answer.status, `${what}: ${answer.text}`).toBe(status);
    const pointers = expectProblem(answer, status).fieldErrors.map((one) => one.pointer);
    expect(
      pointers.some((one) => one.startsWith(pointer)),
      `${what} is refused at ${pointers.join(" ")}`,
    ).toBe(true);
    expect(await service().executions(key)).toBe(0);
  }

  return { bodyOf, post, accepts, refuses };
}

export const without = (name: string) => (body: Body) =>
  Object.fromEntries(Object.entries(body).filter(([field]) => field !== name));

// Values just outside the grammars of section 2 and 4.2.
export const hex = "0123456789abcdef0123456789abcdef";
export const emoji = "\u{1F600}";
export const badStyleIds = ["", "_a", ".a", "-a", "a..b", "a b", "a/b", "a\n", "é", "a".repeat(129)];
export const notPrefixed = (prefix: string): readonly string[] => [
  "",
  hex,
  prefix,
  `${prefix}${hex.slice(1)}`,
  `${prefix}${hex}0`,
  `${prefix}${hex.toUpperCase()}`,
  `${prefix.toUpperCase()}${hex}`,
  ` ${prefix}${hex}`,
  `${prefix}${hex}\n`,
];
/** Blank, or with a control character of C0, DEL or C1. */
export const badText = [
  "",
  "   ",
  "\u00a0\u3000",
  "a\u0000",
  "\u001fa",
  "a\u007f",
  "a\u0085b",
  "\u009f",
  "tab\there",
  "line\n",
];
