/** The served document, and an independent validator of answers against it. */
import { headersOfHttp, makeChecker, readDocument } from "@messaging-service/testkit/openapi"
import type {
  Check,
  DocumentObject,
  Operation,
  ServiceDocument,
} from "@messaging-service/testkit/openapi"
import { Effect } from "effect"
import { HttpTestClients } from "../HttpTestClients.ts"
import type { Answer, Call } from "../HttpTestClients.ts"
import { expectBody } from "../Records.ts"

export type { DocumentObject, Json, MediaObject } from "@messaging-service/testkit/openapi"
export type { Operation as Placed } from "@messaging-service/testkit/openapi"

/** The document of the service behind both clients. */
export const served = Effect.gen(function* () {
  const { socket } = yield* HttpTestClients
  return expectBody<DocumentObject>(yield* socket.call({ path: "/openapi.json" }), 200)
})

const read = new WeakMap<DocumentObject, ServiceDocument>()

/** The document with its references resolved, which takes longer than a request. */
const readOnce = (document: DocumentObject): ServiceDocument => {
  const found = read.get(document) ?? readDocument(document)
  read.set(document, found)
  return found
}

export const listOperations = (document: DocumentObject): ReadonlyArray<Operation> =>
  readOnce(document).operations

/** Validators by a schema's path in the document: exactly what it says. */
export const checker = (document: DocumentObject): ((...path: ReadonlyArray<string>) => Check) =>
  makeChecker(document).answer

/** The operation of a call. */
export const operationFor = (
  document: DocumentObject,
  { method = "GET", path }: Call,
): Operation | undefined =>
  readOnce(document)
    .at(path.split("?")[0] ?? "")
    ?.get(method)

/** How an answer deviates from the document; empty when it matches. */
export const undocumented = (document: DocumentObject) => {
  const check = checker(document)
  return (call: Call, answer: Answer): ReadonlyArray<string> => {
    const operation = operationFor(document, call)
    if (operation === undefined) return ["the document has no such operation"]
    const { method, path } = operation
    const response = operation.responses[String(answer.status)]
    if (response === undefined) return [`no answer ${answer.status} of ${path}`]
    const strange = Object.keys(answer.headers).filter(
      (name) => !response.headers.includes(name) && !headersOfHttp.has(name),
    )
    const [type = ""] = (answer.headers["content-type"] ?? "").split(";")
    const wrong =
      answer.text === "" || "*/*" in response.content
        ? undefined
        : response.content[type] === undefined
          ? `no content ${type}`
          : check(...response.place, "content", type, "schema")(answer.body ?? answer.text)
    return [
      ...strange.map((name) => `the header ${name} is not described`),
      ...(wrong === undefined ? [] : [`${method} ${path} ${answer.status}: ${wrong}`]),
    ]
  }
}
