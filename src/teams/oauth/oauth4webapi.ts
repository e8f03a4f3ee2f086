// What asking an identity provider about tokens needs of OAuth: a part of its own (scripts/build.ts), loaded by nobody else.
export {
  allowInsecureRequests,
  ClientSecretBasic,
  customFetch,
  introspectionRequest,
  processIntrospectionResponse,
} from "oauth4webapi";
