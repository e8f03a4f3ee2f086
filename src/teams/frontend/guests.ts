// Who is served what, where callers sign in: the seam between HTTP and whoever knows the teams.
import type { Caller } from "../../caller.ts";
import type { HttpService } from "../../mcp/http/port.ts";

export interface Guests {
  /**
   * What this caller is served at /mcp, or at /mcp/{team}. Asked for each request, so it answers from memory where it can, with
   * the same object while nothing has changed: then `onRetired` finds the streams to end.
   * Undefined: there is no such path, as far as this caller can know. Rejects, saying why, where it cannot be told now.
   */
  enter(caller: Caller, team: string | undefined): Promise<HttpService | undefined>;
  /** Hears of each HttpService that is given out no more: whoever listens there has to come back, and hears what he may hear now. */
  onRetired?(hear: (service: HttpService) => void): void;
}
