// What serving teams needs of JOSE: a part of its own (scripts/build.ts), loaded by nobody else.
export {
  CompactEncrypt,
  compactDecrypt,
  createRemoteJWKSet,
  customFetch,
  EncryptJWT,
  errors,
  jwtDecrypt,
  jwtVerify,
} from "jose";
