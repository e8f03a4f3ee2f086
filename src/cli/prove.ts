// Proves client credentials before they are kept: by a token from the service.

import { CALL_LIMIT_MS, systemTiming } from "../api-client/attempts.ts";
import { createTransport } from "../api-client/transport.ts";
import { createIdentity } from "../credentials/identity.ts";
import { type StoredLogin, scopeSets } from "../credentials/login.ts";
import { createRedactor } from "../credentials/redaction.ts";
import { noTokenStore } from "../credentials/token-store.ts";
import { createTokens } from "../credentials/tokens.ts";
import { Failure } from "../failure.ts";

/** Throws Failure. A token for any of the scope sets proves the pair; so does "this client may not have that scope". */
export async function prove({ baseUrl, workspaceId, ...credentials }: StoredLogin): Promise<void> {
  const redactor = createRedactor();
  redactor.add(credentials.clientSecret);
  const transport = createTransport();
  const given = { baseUrl, workspaceId, credentials };
  const identity = createIdentity({ given, keychain: undefined, required: false, redactor, now: Date.now });
  const tokens = createTokens({ identity, store: noTokenStore, transport, timing: systemTiming, redactor });
  const context = { signal: new AbortController().signal, deadlineAt: Date.now() + CALL_LIMIT_MS };
  try {
    await tokens.get(scopeSets[0] ?? [], context);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    if (error.facts.code === "invalid_scope") return;
    const { message } = error.facts;
    throw error.with({ message: `${redactor.redact(message)} Nothing was stored.` });
  } finally {
    await transport.close();
  }
}
