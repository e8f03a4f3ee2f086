// This module defines the RecipeOffer resource and its parts (docs/contract.md, 2.2).
import * as z from "zod/v4";
import { jsonBytes, jsonObject } from "./json.ts";
import {
  chars,
  dateTime,
  decimalVersion,
  hex64,
  listed,
  prefixedId,
  WORKSPACE_STYLE_ID,
  workspaceStyleId,
} from "./scalars.ts";

export const MAX_OFFER_BYTES = 65536;
export const MAX_REFERENCES = 200;

export const RecipeVersionId = prefixedId("micrecipev_");

const References = z
  .custom<Record<string, z.infer<typeof jsonObject>>>((value) => jsonObject.safeParse(value).success, {
    error: "must be a JSON object",
  })
  .superRefine((references, context) => {
    const keys = Object.keys(references);
    if (keys.length > MAX_REFERENCES)
      context.addIssue({ code: "custom", message: `must have at most ${MAX_REFERENCES} properties` });
    for (const key of keys) {
      if (!workspaceStyleId.safeParse(key).success)
        context.addIssue({ code: "custom", path: [key], message: "must have a workspace-style id as its key" });
      if (!jsonObject.safeParse(references[key]).success)
        context.addIssue({ code: "custom", path: [key], message: "must be a JSON object" });
    }
  })
  .meta({
    type: "object",
    maxProperties: MAX_REFERENCES,
    propertyNames: { pattern: WORKSPACE_STYLE_ID.source },
    additionalProperties: { type: "object", additionalProperties: true },
  });

export const RecipeParameters = z.strictObject({
  versionId: workspaceStyleId,
  contentHash: hex64,
  definition: jsonObject,
  references: References,
});
export type RecipeParameters = z.infer<typeof RecipeParameters>;

export const ValueState = listed(["RAW", "EXTRACTED", "NORMALIZED", "MATCHED", "DERIVED"]);

export const InputRequirement = z.strictObject({
  name: workspaceStyleId,
  schemaVersionId: workspaceStyleId,
  valueState: ValueState,
  schema: RecipeParameters,
});
export type InputRequirement = z.infer<typeof InputRequirement>;

/** `<part>:<part>`, each part of letters, digits, `_ . -`; at most 128 characters in total. */
const permission = z
  .string()
  .max(128)
  .regex(/^[A-Za-z0-9_.-]+:[A-Za-z0-9_.-]+$/, { error: "must have the form <part>:<part>" });

export const RecipeDefinition = z.strictObject({
  recipeId: prefixedId("micrecipe_"),
  versionId: RecipeVersionId,
  versionHash: hex64,
  name: chars(1, 160),
  inputs: z.array(InputRequirement).min(1).max(100),
  parameters: RecipeParameters,
  requiredPermissions: z
    .array(permission)
    .max(200)
    .refine((list) => new Set(list).size === list.length, { error: "must be unique" })
    .meta({ uniqueItems: true }),
  stopAfterStage: listed(["SIFT", "REFINE", "BLEND", "CHURN", "TASTE", "FREEZE"]),
});
export type RecipeDefinition = z.infer<typeof RecipeDefinition>;

export const RecipeOffer = z
  .strictObject({
    id: prefixedId("micoffer_"),
    workspaceId: workspaceStyleId,
    environment: listed(["SANDBOX"]),
    resourceVersion: decimalVersion,
    recipe: RecipeDefinition,
    availability: listed(["REVIEWED_REFERENCE"]),
    executionAvailable: z.literal(false),
    approvedAt: dateTime,
    expiresAt: dateTime,
  })
  .refine((offer) => jsonBytes(offer) <= MAX_OFFER_BYTES, {
    error: `must be at most ${MAX_OFFER_BYTES} UTF-8 bytes`,
  });
export type RecipeOffer = z.infer<typeof RecipeOffer>;
