// Why an access token does not tell who calls: it is refused, or it cannot be checked now.

/** Not to be accepted. The message goes to the caller. */
export class TokenRefused extends Error {
  override readonly name = "TokenRefused";
}

/** The identity provider cannot be asked: nothing is known of the token, good or bad. The message goes to the log and to /readyz. */
export class ProviderUnavailable extends Error {
  override readonly name: string = "ProviderUnavailable";
}

/** The token's key is not among the provider's keys as they were last read. They are not read again within `retryAfterSeconds`. */
export class SigningKeyUnknown extends ProviderUnavailable {
  override readonly name = "SigningKeyUnknown";
  readonly retryAfterSeconds: number;

  constructor(retryAfterSeconds: number) {
    super("the key that signed a token is not among the identity provider's keys as they were last read");
    this.retryAfterSeconds = retryAfterSeconds;
  }
}
