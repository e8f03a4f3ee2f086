// Why an access token does not tell who calls: it is refused, or it cannot be checked now.

/** Not to be accepted. The message goes to the caller. */
export class TokenRefused extends Error {
  override readonly name = "TokenRefused";
}

/** The identity provider cannot be asked: nothing is known of the token, good or bad. The message goes to the log and to /readyz. */
export class ProviderUnavailable extends Error {
  override readonly name = "ProviderUnavailable";
}
