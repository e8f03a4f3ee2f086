// This module defines the resources of the geography playground (docs/contract.md, 2.1 and 7.1).
import * as z from "zod/v4";
import type { Contradictions } from "./envelope.ts";
import { jsonObject } from "./json.ts";
import { MAX_SAFE } from "./scalars.ts";

export const PLAYGROUND_CONTRACT = "svc.geo.admin-divisions.v1";
export const MAX_STATES = 64;
export const MAX_DISTRICTS = 256;

/** No limit is stated. A count above 2^53-1 is rejected, because it is not exact (open question 22). */
const count = z
  .custom<number>((value) => typeof value === "number" && Number.isSafeInteger(value) && value >= 0, {
    error: `must be an integer >= 0; one above ${MAX_SAFE} cannot be told exactly`,
  })
  .meta({ type: "integer", minimum: 0 });

/** A URI with its scheme, by the grammar of RFC 3986, appendix A (open question 12); an http URI has a host (RFC 9110, 4.2). */
const URI = ((): RegExp => {
  const part = (others: string): string => `(?:[A-Za-z0-9._~!$&'()*+,;=${others}-]|%[0-9A-Fa-f]{2})*`;
  const host = `(?:\\[(?:[0-9A-Fa-f:.]+|[vV][0-9A-Fa-f]+\\.[A-Za-z0-9._~!$&'()*+,;=:-]+)\\]|${part("")})`;
  const authority = `(?:${part(":")}@)?${host}(?::[0-9]*)?`;
  const path = part(":@/");
  const tail = part(":@/?");
  return new RegExp(
    `^(?!https?:(?!//[^/?#:]))[A-Za-z][A-Za-z0-9+.-]*:` +
      `(?://${authority}(?=[/?#]|$)|(?!//))${path}(?:\\?${tail})?(?:#${tail})?$`,
  );
})();

const uri = z
  .string()
  .refine((text) => URI.test(text), { error: "must be an absolute URI" })
  .meta({ format: "uri" });

/** The version of a format: unlike another constant, it never has an unlisted value, because the rest may then mean something else. */
const constant = (value: string) =>
  z
    .string()
    .refine((text) => text === value, { error: `must be ${value}` })
    .meta({ const: value });

export const CatalogMetadata = z.strictObject({
  contract: constant(PLAYGROUND_CONTRACT),
  source: z.string().optional(),
  sourceRef: uri.optional(),
  sourceUpdatedAt: z.string().optional(),
  fallbackUsed: z.boolean().optional(),
});
export type CatalogMetadata = z.infer<typeof CatalogMetadata>;

const responseStateCode = z.string().regex(/^[A-Za-z]{2}$/, { error: "must be a two-letter state code" });

export const State = z.strictObject({
  code: responseStateCode,
  lgdCode: z.string().optional(),
  name: z.string(),
  districtCount: count,
  mandalCount: count,
});
export type State = z.infer<typeof State>;

export const District = z.strictObject({ code: z.string(), name: z.string(), mandalCount: count });
export type District = z.infer<typeof District>;

export const StatesResponse = CatalogMetadata.extend({ states: z.array(State).max(MAX_STATES) });
export type StatesResponse = z.infer<typeof StatesResponse>;

export const DistrictsResponse = CatalogMetadata.extend({
  state: z.string(),
  districts: z.array(District).max(MAX_DISTRICTS),
});
export type DistrictsResponse = z.infer<typeof DistrictsResponse>;

/** The playground's own OpenAPI document: three required fields (section 4.1), the rest free-form. */
export const OpenApiDocument = z.looseObject({
  openapi: constant("3.1.1"),
  info: jsonObject,
  paths: jsonObject,
});
export type OpenApiDocument = z.infer<typeof OpenApiDocument>;

/** The version of the playground's document (section 9, rule 1). */
const DOCUMENT_VERSION = "1.0.0";

export const documentContradictions = ({ info }: OpenApiDocument): Contradictions =>
  info["version"] === DOCUMENT_VERSION
    ? []
    : [`/info/version: not ${DOCUMENT_VERSION}, the contract's document version`];

/** Status values by HTTP status (section 7.1). Any other HTTP status has PLAYGROUND_UPSTREAM_UNAVAILABLE. */
export const PLAYGROUND_STATUS = {
  400: "INVALID_PLAYGROUND_REQUEST",
  403: "PLAYGROUND_REQUEST_DENIED",
  429: "PLAYGROUND_RATE_LIMITED",
  502: "PLAYGROUND_UPSTREAM_UNAVAILABLE",
} as const;

export const PlaygroundError = z.strictObject({
  status: z.enum([PLAYGROUND_STATUS[400], PLAYGROUND_STATUS[403], PLAYGROUND_STATUS[429], PLAYGROUND_STATUS[502]]),
});
export type PlaygroundError = z.infer<typeof PlaygroundError>;

/** Retry-After on 429 (section 7.1): an integer >= 1, in seconds. */
export const RetryAfter = z.string().regex(/^[1-9][0-9]*$/);
