// Why an access token says nothing about who calls: it is none of ours, or nobody can tell now.

/** Not to be accepted. The message goes to the caller. */
export class TokenRefused extends Error {
  override readonly name = "TokenRefused";
  /** The provider made it, as far as is known: it has only ended, or it is for something else. Nobody guesses such tokens. */
  readonly isProviders: boolean;

  constructor(message: string, { isProviders, cause }: { isProviders: boolean; cause?: unknown }) {
    super(message, { cause });
    this.isProviders = isProviders;
  }
}

/** The identity provider cannot be asked: nothing is known of the token, good or bad. The message goes to the log and to /readyz. */
export class ProviderUnavailable extends Error {
  override readonly name = "ProviderUnavailable";
}
