/**
 * Every refusal that the document names of an operation of version 2 or of the operator API, provoked: its
 * status, its code, its field, and a body and headers as the document has them. A refusal without a row
 * fails, and so does a row that no operation names. Why and when core refuses, its own tests say.
 */
import { assert, describe, layer } from "@effect/vitest"
import { Admission, BrowserSessions, RealTime, StoreUnavailable } from "@messaging-service/core"
import type { Code } from "@messaging-service/core"
import { layerLogin } from "@messaging-service/emulator"
import { Context, Effect, Layer } from "effect"
import { HttpTestClients, errorBody } from "../HttpTestClients.ts"
import { listOperations, served, undocumented } from "../openapi/Document.ts"
import type { DocumentObject, Placed } from "../openapi/Document.ts"
import { everyone, rights } from "../operator/rights.ts"
import { layerService } from "../Service.ts"
import { toName, makeRequest } from "./Row.ts"
import type { Row } from "./Row.ts"
import { aShop, rows, rowsOfFaults, rowsWithoutTelegram } from "./rows.ts"

type Rows = typeof rows

const all: Rows = { ...rows, ...rowsOfFaults, ...rowsWithoutTelegram }

/** What the document names for a whole part, and this operation cannot answer. */
const isImpossible = ({ id, part }: Placed, code: string): boolean =>
  part !== "v2" &&
  // The role of a member is enough, and a caller in a workspace is limited to no numbers.
  ((code === "role_required" && rights[id] === everyone) || code === "number_not_allowed")

interface Pair {
  readonly operation: Placed
  readonly code: Code
  readonly status: number
}

const getPairs = (document: DocumentObject): ReadonlyArray<Pair> =>
  listOperations(document)
    .filter(({ part }) => part === "v2" || part === "operator" || part === "emulator")
    .flatMap((operation) =>
      Object.entries(operation.responses).flatMap(([status, { codes }]) =>
        codes
          .filter((code) => !isImpossible(operation, code))
          .map((code) => ({ operation, code: code as Code, status: Number(status) })),
      ),
    )

/** The row of its operation alone, or the one of all others. */
const findRow = ({ code, operation }: Pick<Pair, "code" | "operation">): Row | undefined => {
  const found = all[code] ?? []
  return (
    found.find(({ of }) => of?.includes(toName(operation))) ??
    found.find(({ of }) => of === undefined)
  )
}

const storeUnavailable = new StoreUnavailable({ operation: "admit", cause: "gone" })
const storeBusy = new StoreUnavailable({ operation: "list", cause: "busy", retryAfter: 2 })

const isGone = (secret: string) => secret.endsWith("gone") || /^a{64}$/.test(secret)
const isBusy = (secret: string) => secret.endsWith("busy") || /^b{64}$/.test(secret)

const settings = { stopping: Effect.void, trustProxy: true }

/** Browser sessions use the system's time, which does not pass here. */
const layerNoTime = Layer.effect(
  RealTime,
  Effect.map(RealTime, (realTime) => ({ ...realTime, systemMillis: Effect.succeed(0) })),
)

/** A store that fails, or has no room, when it is asked about some secrets. */
const layerFaults = Layer.effectContext(
  Effect.gen(function* () {
    const [admission, sessions] = [yield* Admission, yield* BrowserSessions]
    const failing =
      <Args extends ReadonlyArray<unknown>, A, E>(
        call: (...args: Args) => Effect.Effect<A, E>,
        getSecret: (...args: Args) => string | undefined,
      ) =>
      (...args: Args): Effect.Effect<A, E | StoreUnavailable> => {
        const secret = getSecret(...args) ?? ""
        if (isGone(secret)) return Effect.fail(storeUnavailable)
        return isBusy(secret) ? Effect.fail(storeBusy) : call(...args)
      }
    return Context.make(Admission, {
      ...admission,
      admitV2: failing(admission.admitV2, (token) => token),
      admitOperator: failing(admission.admitOperator, (token) => token),
    }).pipe(
      Context.add(BrowserSessions, {
        ...sessions,
        signIn: failing(sessions.signIn, ({ token }) => token),
        admit: failing(sessions.admit, (id) => id),
        end: failing(sessions.end, (id) => id),
      }),
    )
  }),
)

/** What a refusal has besides. */
const headerOf: Readonly<Partial<Record<number | Code, string>>> = {
  401: "www-authenticate",
  503: "retry-after",
  idempotency_in_progress: "retry-after",
  rate_limited: "retry-after",
  too_many_auth_failures: "retry-after",
}

let addresses = 0

/** Calls each operation that names the code. */
const provoked = Effect.fnUntraced(function* provoked(code: Code) {
  const { socket } = yield* HttpTestClients
  const document = yield* served
  const findProblems = undocumented(document)
  const usual = yield* aShop
  const created = new Map<Row, Effect.Success<Row["changes"]>>()
  const wrong: Array<string> = []
  for (const { operation, status, ...pair } of getPairs(document)) {
    if (pair.code !== code) continue
    const row = findRow({ code, operation })
    assert.isDefined(row, `${operation.id}: ${code}`)
    const changes = created.get(row) ?? (yield* row.changes)
    created.set(row, changes)
    const change = yield* changes(operation)
    const request = makeRequest(operation, change, usual)
    // Wrong keys are counted by address.
    const address = ["x-forwarded-for", `10.0.${addresses >> 8}.${addresses++ & 255}`] as const
    const call = { ...request, headers: [address, ...(request.headers ?? [])] }
    const answer = yield* socket.call(call)
    const refused = answer.status < 400 ? undefined : errorBody(answer)
    const got = [answer.status, refused?.code, refused?.field].join(" ")
    const want = [status, code, change.field].join(" ")
    if (got !== want) wrong.push(`${operation.id}: ${got} for ${want}: ${refused?.message}`)
    wrong.push(...findProblems(call, answer))
    const header = headerOf[code] ?? headerOf[status]
    if (header !== undefined) assert.property(answer.headers, header, `${operation.id}: ${code}`)
  }
  assert.deepStrictEqual(wrong, [])
})

describe("refusals", () => {
  layer(layerService({ settings, ports: Layer.merge(layerLogin, layerNoTime) }))(
    "of a whole service",
    (it) => {
      it.effect("each have a row, and each row is of a refusal", () =>
        Effect.gen(function* () {
          const pairs = getPairs(yield* served)
          const missing = pairs.filter((pair) => findRow(pair) === undefined)
          assert.deepStrictEqual(
            missing.map(({ code, operation }) => `${operation.id}: ${code}`),
            [],
          )
          const used = new Set(pairs.map(findRow))
          const names = (code: string) =>
            pairs.filter((pair) => pair.code === code).map(({ operation }) => toName(operation))
          for (const [code, list] of Object.entries(all)) {
            for (const row of list) {
              assert.isTrue(used.has(row), `no operation is refused with this row of ${code}`)
              assert.includeMembers(names(code), [...(row.of ?? [])], code)
            }
          }
        }),
      )

      for (const code of Object.keys(rows) as ReadonlyArray<Code>) {
        it.effect(code, () => provoked(code))
      }
    },
  )

  layer(layerService({ settings, instead: layerFaults }))("of a store that fails", (it) => {
    for (const code of Object.keys(rowsOfFaults) as ReadonlyArray<Code>) {
      it.effect(code, () => provoked(code))
    }
  })

  layer(layerService({ settings }))("without an application of Telegram's", (it) => {
    for (const code of Object.keys(rowsWithoutTelegram) as ReadonlyArray<Code>) {
      it.effect(code, () => provoked(code))
    }
  })
})
