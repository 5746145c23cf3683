/** The service's own description of its interface, and checks against it. */
export { getCodes, headersOfHttp, isJson, readDocument, toApiPart } from "./Document.ts"
export type {
  DocumentObject,
  Json,
  MediaObject,
  Operation,
  Response,
  ResponseObject,
  ServiceDocument,
  ApiPart,
} from "./Document.ts"
export { makeChecker } from "./checker.ts"
export type { Check, Checker } from "./checker.ts"
