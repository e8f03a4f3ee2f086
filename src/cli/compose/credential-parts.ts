// What belongs to one set of client credentials: who it is to the service, its tokens and calls, what is watched with it, its secrets.
import type { Identity } from "../../auth/identity.ts";
import type { Redactor } from "../../auth/redaction.ts";
import type { TokenStore } from "../../auth/token-store.ts";
import { createTokens, type Tokens } from "../../auth/tokens.ts";
import { createService, type Service, type ServiceOptions } from "../../service/call.ts";
import { observedTokens } from "../../service/observed.ts";
import type { Transport } from "../../service/transport.ts";
import { createWatching, type Watching } from "../../toolkit/resources/watching.ts";
import type { ProcessParts } from "./process-parts.ts";

export interface CredentialParts {
  readonly identity: Identity;
  readonly redactor: Redactor;
  readonly tokens: Tokens;
  readonly service: Service;
  readonly watching: Watching;
}

interface Given extends Pick<CredentialParts, "identity" | "redactor">, Pick<ServiceOptions, "admit" | "cooldown"> {
  readonly store: TokenStore;
  readonly transport: Transport;
}

export function credentialParts(
  { identity, redactor, store, transport, admit, cooldown }: Given,
  { timing, telemetry }: Pick<ProcessParts, "timing" | "telemetry">,
): CredentialParts {
  const tokenTransport = telemetry ? observedTokens(telemetry, transport) : transport;
  const tokens = createTokens({ identity, store, transport: tokenTransport, timing, redactor });
  const service = createService({ baseUrl: identity.baseUrl, tokens, transport, timing, admit, cooldown, telemetry });
  return { identity, redactor, tokens, service, watching: createWatching({ timing }) };
}
