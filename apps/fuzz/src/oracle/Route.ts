/** The route of a request, by the document alone. */
import { toApiPart } from "@messaging-service/testkit/openapi"
import type { Operation, ServiceDocument, ApiPart } from "@messaging-service/testkit/openapi"
import type { Shot } from "../request/Shot.ts"

export interface Route {
  readonly part: ApiPart
  /** Undefined: the address has none for that method. */
  readonly operation: Operation | undefined
  readonly isKnownPath: boolean
  readonly methods: ReadonlyArray<string>
}

export const getRoute = (document: ServiceDocument, { method, target }: Shot): Route => {
  const [path = ""] = target.split("?", 1)
  const methods = document.at(path)
  return {
    part: toApiPart(path),
    operation: methods?.get(method === "HEAD" ? "GET" : method),
    isKnownPath: methods !== undefined,
    methods: [...(methods?.keys() ?? [])],
  }
}
