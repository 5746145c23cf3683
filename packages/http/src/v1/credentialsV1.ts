/**
 * Who a version 1 request says it is (contract: Version 1: credentials): a `client_id` with an
 * `api_key`, which may come as a bearer token instead.
 */
import { bearerToken } from "@messaging-service/core"
import type { CredentialsV1 } from "@messaging-service/core"
import { Result } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { authorizationOf } from "../request/HeaderValues.ts"
import { failV1 } from "./FailureV1.ts"
import type { FailureV1 } from "./FailureV1.ts"
import { integerOf, textOf, unreadable } from "./FieldsV1.ts"
import type { BodyV1 } from "./FieldsV1.ts"
import type { RouteV1 } from "./RouteV1.ts"

/** The key is missed first, then the client id. Whether they are good is for the core to say. */
export const credentialsOf = (
  { credentials }: Pick<RouteV1, "credentials">,
  body: BodyV1,
  request: HttpServerRequest,
): Result.Result<Omit<CredentialsV1, "clientAddress">, FailureV1> => {
  const bearer = bearerToken(authorizationOf(request)) ?? null
  const apiKey = credentials === "bearer" ? bearer : (textOf(body.one("api_key")) ?? bearer)
  if (apiKey === null) return Result.fail(failV1("missing_key"))
  if (credentials === "bearer") return Result.succeed({ clientId: null, apiKey })
  const clientId = integerOf(body.one("client_id"))
  if (clientId === null) return Result.fail(failV1("missing_client_id"))
  if (clientId === unreadable) return Result.fail(failV1("invalid_client_id"))
  return Result.succeed({ clientId, apiKey })
}
