// This module defines the request bodies of the POST endpoints (docs/contract.md, 4.2). A body allows no other fields.
import * as z from "zod/v4";
import { InputId, InputKind } from "../inputs.ts";
import { jsonObject } from "../json.ts";
import { RecipeVersionId } from "../recipes.ts";
import { chars, hex64, plainText, scalarText, utcInstant, workspaceStyleId } from "../scalars.ts";

export const Port = z.string().regex(/^[A-Za-z][A-Za-z0-9_-]{0,79}$/, {
  error: "must be 1-80 characters: a letter, then letters, digits, _ or -",
});

export const InputBinding = z.strictObject({ port: Port, inputId: workspaceStyleId });
export type InputBinding = z.infer<typeof InputBinding>;

export const MAX_BINDINGS = 32;

export const areUnique = (values: readonly unknown[]): boolean => new Set(values).size === values.length;

export const CreateJob = z.strictObject({
  workspaceId: workspaceStyleId,
  recipeVersionId: RecipeVersionId,
  inputBindings: z
    .array(InputBinding)
    .min(1)
    .max(MAX_BINDINGS)
    .refine((bindings) => areUnique(bindings.map(({ port }) => port)), { error: "must have unique ports" })
    .refine((bindings) => areUnique(bindings.map(({ inputId }) => inputId)), { error: "must have unique input ids" }),
  parameterValues: jsonObject,
  clientReference: plainText(160).nullable().optional(),
});

/** Returns true for the id of a file, which an input of the kind M4_FILE refers to. */
export const isFileId = (id: string): boolean => /^dev(sign)?file_/.test(id);

/** Checks that two fields match, for the body and for arguments of the same shape. */
export const matchesInputKind = ({ inputKind, referenceId }: { inputKind: string; referenceId: string }): boolean =>
  inputKind !== "M4_FILE" || isFileId(referenceId);
export const referenceRule = {
  path: ["referenceId"],
  error: "must be the id of a file (M4_FILE), which begins with devfile_ or devsignfile_",
};

export const CreateInput = z
  .strictObject({
    workspaceId: chars(1, 128),
    inputKind: InputKind,
    referenceId: chars(1, 128).describe("A file's id (devfile_…), from the user."),
    alias: chars(1, 160).optional(),
    clientReference: chars(1, 160).optional(),
  })
  .refine(matchesInputKind, referenceRule);

export const CreateProcessingRequest = z.strictObject({
  workspaceId: workspaceStyleId,
  inputId: InputId,
  recipeVersionId: RecipeVersionId,
  recipeVersionHash: hex64,
  purpose: scalarText(160),
  expiresAt: utcInstant,
});

/** The reason for a cancellation or a retry. */
const reason = plainText(1000);

export const CancelJob = z.strictObject({ reason });

export const RetryMode = z.enum(["SAFE_RESUME", "RESTART"]);
export const RetryJob = z.strictObject({ retryMode: RetryMode, reason });
