/**
 * Whether the OpenAPI document allows an answer, and whether it follows the rules that such a
 * document cannot express (contract: Requests and answers). The request's route is derived from the
 * document alone, so a route that the service confuses with another one shows.
 */
import { headersOfHttp, isJson } from "@messaging-service/testkit/openapi"
import type { Checker, Response, ServiceDocument } from "@messaging-service/testkit/openapi"
import type { Shot } from "../request/Shot.ts"
import { findHeader } from "../wire/AnswerReader.ts"
import type { WireAnswer } from "../wire/AnswerReader.ts"
import type { Outcome } from "../wire/Connection.ts"
import { mayBeErrorPage } from "./errorPage.ts"
import { judgeError } from "./errors.ts"
import { finding } from "./Finding.ts"
import type { Finding } from "./Finding.ts"
import { judgeHeaders, judgeRates, rateNames } from "./headers.ts"
import { getRoute } from "./Route.ts"
import type { Route } from "./Route.ts"

export interface Judge {
  (shot: Shot, outcome: Outcome): ReadonlyArray<Finding>
}

/** Both wait for the work of all cells; their phones may hang. */
export const waitsForOthers = /^(?:settle|advanceClock)$/

/** What the service says to malformed HTTP, which reaches no route. */
const malformedStatuses: Readonly<Record<string, number>> = {
  "The request is not valid HTTP.": 400,
  "The request did not arrive in time.": 408,
  "The request's head is too large.": 413,
}

/** The references for judging answers. */
interface Standard {
  readonly document: ServiceDocument
  readonly checker: Checker
  /** The failures of version 1 in its own words. */
  readonly texts: ReadonlyArray<unknown>
}

export const makeJudge = (document: ServiceDocument, checker: Checker): Judge => {
  const standard = { document, checker, texts: wordsOfVersion1(document) }
  return (shot, outcome) => {
    const { id } = shot.aim
    switch (outcome.kind) {
      case "answer": {
        const { answer } = outcome
        const isMalformed = shot.expectation === "anything" && saysMalformed(answer)
        return isMalformed ? judgeMalformed(shot, answer) : judgeService(standard, shot, answer)
      }
      case "malformed":
        // The parser finds some faults after the answer has started.
        if (shot.expectation === "anything" && outcome.why.startsWith("cut")) return []
        return [
          finding(`${id}: an answer that is not HTTP: ${outcome.why.slice(0, 40)}`, outcome.why),
        ]
      case "closed":
      case "silence":
        return shot.expectation === "answer" && !waitsForOthers.test(id)
          ? [finding(`${id}: no answer: ${outcome.kind}`)]
          : []
    }
  }
}

const saysMalformed = (answer: WireAnswer): boolean =>
  malformedStatuses[String(findError(answer)?.["message"])] === answer.status ||
  // Node's own word on `Expect`.
  (answer.status === 417 && findHeader(answer.headers, "x-request-id") === undefined)

/** Nothing of such a request is known, so nothing of it comes back. */
const judgeMalformed = (shot: Shot, answer: WireAnswer): ReadonlyArray<Finding> => {
  if (answer.status === 417) return []
  const findings = judgeHeaders({ ...shot, raw: Buffer.of() }, answer, findCode(answer))
  return findHeader(answer.headers, "connection") === "close"
    ? findings
    : [...findings, finding("malformed HTTP: the connection stays open")]
}

/** A page or file of the dashboard, which no document describes; its own tests judge it. */
const isOfDashboard = ({ headers, status }: WireAnswer): boolean =>
  (status === 200 || status === 304) &&
  findHeader(headers, "content-security-policy")?.includes("trusted-types 'none'") === true

const judgeService = (
  standard: Standard,
  shot: Shot,
  answer: WireAnswer,
): ReadonlyArray<Finding> => {
  if (isOfDashboard(answer)) return []
  const code = findCode(answer)
  const common = judgeHeaders(shot, answer, code)
  const route = getRoute(standard.document, shot)
  const isPage = answer.status === 500 && mayBeErrorPage(shot, route, answer)
  // The bytes no longer match the shot.
  if (shot.raw !== undefined) {
    return answer.status < 500 || answer.status === 503 || isPage
      ? common
      : [...common, finding(`raw: ${answer.status}`, answer.body.toString().slice(0, 200))]
  }
  return [
    ...common,
    ...judgeStatus(shot, route, answer, isPage),
    ...judgeError(route, answer),
    ...judgeRates(shot, route, answer, code),
    ...judgeBody(standard, shot, route, answer),
    ...judgeTaken(standard, shot, route, answer),
    ...judgeQuery(shot, route, answer),
    ...judgeWords(standard, route, answer),
  ]
}

const judgeBody = (
  { checker, document }: Standard,
  shot: Shot,
  route: Route,
  answer: WireAnswer,
): ReadonlyArray<Finding> => {
  const { operation } = route
  const name = operation?.id ?? `${route.part}: no operation`
  const kind = `${name} ${answer.status}`
  const response = toResponse(document, route, answer.status)
  if (response === undefined) return [finding(`${kind}: a status that is not documented`)]
  const type = (findHeader(answer.headers, "content-type") ?? "").split(";")[0] ?? ""
  const strange = answer.headers
    .map(([header]) => header)
    .filter((header) => !response.headers.includes(header) && !headersOfHttp.has(header))
    .map((header) => finding(`${kind}: the header ${header} is not documented`))
  if (shot.method === "HEAD" || "*/*" in response.content) return strange
  if (answer.body.length === 0) {
    return Object.keys(response.content).length === 0
      ? strange
      : [...strange, finding(`${kind}: no body`)]
  }
  if (response.content[type] === undefined) {
    return [...strange, finding(`${kind}: content type ${type} is not documented`)]
  }
  const text = answer.body.toString()
  const value = type === "application/json" ? parsed(text) : text
  if (value === undefined) return [...strange, finding(`${kind}: no JSON`, text.slice(0, 100))]
  const wrong = checker.answer(...response.place, "content", type, "schema")(value)
  return wrong === undefined
    ? strange
    : [
        ...strange,
        finding(`${kind}: not by its schema: ${withoutPositions(wrong)}`, text.slice(0, 300)),
      ]
}

/** An accepted request must be one that the document allows. */
const judgeTaken = (
  { checker }: Standard,
  shot: Shot,
  { operation }: Route,
  answer: WireAnswer,
): ReadonlyArray<Finding> => {
  const type = shot.headers.findLast(([name]) => name === "Content-Type")?.[1]
  if (operation === undefined || operation.part === "v1" || answer.status >= 300) return []
  if (shot.body === null || shot.body.length === 0 || type !== "application/json") return []
  if (operation.bodies[type] === undefined) return []
  const value = parsed(shot.body.toString().replace(/^\ufeff/, ""))
  if (value === undefined) return [finding(`${operation.id}: accepted a body that is not JSON`)]
  const path = ["paths", operation.path, operation.method.toLowerCase(), "requestBody"]
  const wrong = checker.request(...path, "content", type, "schema")(value)
  return wrong === undefined
    ? []
    : [finding(`${operation.id}: accepted what the document refuses: ${withoutPositions(wrong)}`)]
}

/** Version 2 accepts each parameter once, and only described ones. */
const judgeQuery = (
  shot: Shot,
  { operation, part }: Route,
  { status }: WireAnswer,
): ReadonlyArray<Finding> => {
  if (operation === undefined || part !== "v2" || status >= 300) return []
  const query = shot.target.split("?").slice(1).join("?")
  const input = [...new URLSearchParams(query).keys()]
  const described = operation.parameters.filter((each) => each.in === "query")
  const isKnown = input.every((name) => described.some((each) => each.name === name))
  const isSingle = new Set(input).size === input.length
  return isKnown && isSingle ? [] : [finding(`${operation.id}: accepted an invalid query`, query)]
}

const judgeWords = (
  { texts }: Standard,
  { part }: Route,
  { body, status }: WireAnswer,
): ReadonlyArray<Finding> => {
  const value = part === "v1" && status >= 400 ? parsed(body.toString()) : undefined
  const said = isJson(value) ? String(value["message"]) : undefined
  return said === undefined || texts.length === 0 || texts.includes(said)
    ? []
    : [finding(`v1 ${status}: a failure in words that are not documented: ${said.slice(0, 80)}`)]
}

/** The messages of version 1, which the document gives as examples. */
const wordsOfVersion1 = ({ source }: ServiceDocument): ReadonlyArray<unknown> => {
  let at: unknown = source.components["schemas"]
  for (const key of ["FailureV1", "properties", "message", "examples"]) {
    at = isJson(at) ? at[key] : undefined
  }
  return Array.isArray(at) ? at : []
}

/** Route, method and the service's own failures. */
const judgeStatus = (
  shot: Shot,
  { isKnownPath, methods, operation, part }: Route,
  { body, headers, status }: WireAnswer,
  isPage: boolean,
): ReadonlyArray<Finding> => {
  const kind = `${operation?.id ?? part} ${status}`
  if (status >= 500 && status !== 503 && !isPage) {
    return [finding(`${kind}: a fault of the service`, body.toString().slice(0, 200))]
  }
  if (!isKnownPath) {
    return status === 404 ? [] : [finding(`${kind}: an unknown path is not 404`, shot.target)]
  }
  if (operation !== undefined) return []
  if (part === "v1") {
    return status === 400 ? [] : [finding(`${kind}: version 1, wrong method, not 400`, shot.method)]
  }
  // Unknown while no workspace has conversations.
  const isOfConversations =
    /^\/api\/v2\/(?:received-messages|chats|numbers\/[^/?]+\/restrictions)\b/.test(shot.target)
  if (status === 404 && isOfConversations) return []
  if (status !== 405) return [finding(`${kind}: a wrong method is not 405`, shot.method)]
  const allowed = methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]))
  const said = (findHeader(headers, "allow") ?? "").split(", ")
  return allowed.toSorted().join() === said.toSorted().join()
    ? []
    : [
        finding(
          `${kind}: Allow is not what the document has`,
          `${said.join()} for ${allowed.join()}`,
        ),
      ]
}

/** The documented answer of that status, or one that any address can give. */
const toResponse = (
  document: ServiceDocument,
  { operation, part }: Route,
  status: number,
): Response | undefined => {
  const documented = operation?.responses[String(status)]
  if (documented !== undefined) return documented
  if (operation === undefined && part === "v1") {
    const failure = document.operations.find((each) => each.part === "v1")?.responses["400"]
    if (failure === undefined || (status !== 404 && status !== 400)) return undefined
    return { ...failure, headers: [...failure.headers, "allow"] }
  }
  if (operation !== undefined && status !== 503) return undefined
  const name = { 404: "NotFound", 405: "MethodNotAllowed" }[status]
  if (name === undefined) return undefined
  const component = document.source.components["responses"]?.[name]
  if (!isJson(component)) return undefined
  const headers = isJson(component["headers"]) ? Object.keys(component["headers"]) : []
  return {
    place: ["components", "responses", name],
    headers: [...headers.map((header) => header.toLowerCase()), ...rateNames],
    content: component["content"] as Response["content"],
    codes: [],
  }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

const findError = ({ body }: WireAnswer): Readonly<Record<string, unknown>> | undefined => {
  const value = parsed(body.toString())
  const error = isJson(value) ? value["error"] : undefined
  return isJson(error) ? error : undefined
}

const findCode = (answer: WireAnswer): string | undefined => {
  const error = answer.status < 400 ? undefined : findError(answer)
  return error && String(error["code"])
}

/** The index of a list's item does not make another fault. */
const withoutPositions = (wrong: string): string => wrong.replaceAll(/\d+/g, "n").slice(0, 200)
