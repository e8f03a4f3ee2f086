// What the server and the keychain's own process say to each other.
import * as z from "zod/v4";

export const KeychainRequest = z.object({
  id: z.int(),
  operation: z.enum(["get", "set", "delete", "list"]),
  account: z.string().optional(),
  password: z.string().optional(),
});
export type KeychainRequest = z.infer<typeof KeychainRequest>;

/** Why a keychain gave no answer that can be used. */
export const KeychainTrouble = z.enum(["absent", "unusable", "locked", "silent", "failed"]);
export type KeychainTrouble = z.infer<typeof KeychainTrouble>;

export const KeychainReply = z.object({
  id: z.int(),
  password: z.string().optional(),
  existed: z.boolean().optional(),
  accounts: z.array(z.string()).optional(),
  trouble: KeychainTrouble.optional(),
  /** In the words of the addon or of D-Bus: not for users. */
  message: z.string().optional(),
});
export type KeychainReply = z.infer<typeof KeychainReply>;
