import { assert, describe, layer } from "@effect/vitest"
import { Admission, StoreUnavailable } from "@messaging-service/core"
import { Effect, Layer, Logger, References } from "effect"
import { HttpTestClients, errorBody } from "./HttpTestClients.ts"
import { layerService, operatorToken } from "./Service.ts"
import { aText, operate } from "./Records.ts"

/** Log lines with their annotations. */
interface Line {
  readonly level: string
  readonly annotations: Readonly<Record<string, unknown>>
  readonly text: string
}

const capturing = (into: Array<Line>) =>
  Layer.merge(
    Logger.layer([
      Logger.make(({ logLevel, fiber, message, cause }) => {
        into.push({
          level: logLevel,
          annotations: { ...fiber.getRef(References.CurrentLogAnnotations) },
          text: `${String(message)} ${String(cause)}`,
        })
      }),
    ]),
    Layer.succeed(References.MinimumLogLevel, "Debug"),
  )

const secret = "svc_live_secret"

/** An admission without its store, or with a bug, by token. */
const brokenAdmission = Layer.effect(
  Admission,
  Effect.map(Admission, (admission) => {
    const broken = Effect.suspend(() =>
      Effect.fail(new StoreUnavailable({ operation: "admit", cause: "connection refused" })),
    )
    return Admission.of({
      ...admission,
      admitV2: (authorization) =>
        authorization?.includes("defect") === true
          ? Effect.die(new Error("a bug"))
          : authorization?.includes("busy") === true
            ? Effect.fail(new StoreUnavailable({ operation: "list", cause: "busy", retryAfter: 2 }))
            : broken,
      admitV1: () =>
        Effect.fail(new StoreUnavailable({ operation: "list", cause: "busy", retryAfter: 2 })),
      noteV2: () => broken,
    })
  }),
)

describe("a fault", () => {
  const lines: Array<Line> = []
  const broken = layerService({ instead: brokenAdmission }).pipe(Layer.provide(capturing(lines)))

  layer(broken)("when the store fails", (it) => {
    for (const what of ["store", "defect"]) {
      it.effect(`of the ${what} is internal_error with the request id and no detail`, () =>
        Effect.gen(function* () {
          const { socket, web } = yield* HttpTestClients
          for (const client of [socket, web]) {
            lines.length = 0
            const answer = yield* client.call({
              method: "POST",
              path: "/api/v2/messages?text=private",
              token: `${secret}_${what}`,
              json: aText,
            })
            assert.strictEqual(answer.status, 500)
            assert.deepStrictEqual(Object.keys(errorBody(answer)), [
              "code",
              "message",
              "field",
              "docs",
              "request_id",
            ])
            assert.strictEqual(errorBody(answer).code, "internal_error")
            assert.notMatch(answer.text, /bug|refused|admit/)

            assert.lengthOf(lines, 1)
            const { level, annotations, text } = lines[0]!
            // An absent store is logged once a minute; the other lines are debug.
            assert.include(
              what === "store" && client === web ? ["Error", "Debug"] : ["Error"],
              level,
            )
            const { duration_ms, ...known } = annotations
            assert.isNumber(duration_ms)
            assert.deepStrictEqual(known, {
              request_id: answer.headers["x-request-id"],
              method: "POST",
              path: "/api/v2/messages",
              status: 500,
            })
            assert.match(text, what === "store" ? /did not answer: admit/ : /a bug/)
            assert.notInclude(JSON.stringify(lines), secret)
            assert.notInclude(JSON.stringify(lines), "private")
            assert.notInclude(JSON.stringify(lines), aText.to.phone)
          }
        }),
      )
    }

    it.effect("of a store without capacity is service_unavailable with Retry-After", () =>
      Effect.gen(function* () {
        const { socket, web } = yield* HttpTestClients
        for (const client of [socket, web]) {
          lines.length = 0
          const answer = yield* client.call({ path: "/api/v2/messages", token: `${secret}_busy` })
          assert.strictEqual(answer.status, 503)
          assert.strictEqual(errorBody(answer).code, "service_unavailable")
          assert.strictEqual(answer.headers["retry-after"], "2")
          assert.deepStrictEqual(
            lines.map(({ level }) => level),
            [client === socket ? "Warn" : "Debug"],
          )
          const version1 = yield* client.call({
            method: "POST",
            path: "/api/v1/report/",
            json: { client_id: 1, api_key: "0".repeat(40) },
          })
          assert.strictEqual(version1.status, 503)
          assert.strictEqual(version1.headers["retry-after"], "2")
          assert.deepStrictEqual(version1.body, { status: 0, message: "Service unavailable" })
        }
      }),
    )

    it.effect("in counting leaves an unknown path a 404", () =>
      Effect.gen(function* () {
        const { socket } = yield* HttpTestClients
        lines.length = 0
        const answer = yield* socket.call({ path: "/api/v2/nothing", token: secret })
        assert.strictEqual(answer.status, 404)
        assert.deepStrictEqual(
          lines.map(({ level }) => level),
          ["Warn", "Debug"],
        )
      }),
    )

    it.effect("does not affect paths that need no key", () =>
      Effect.gen(function* () {
        lines.length = 0
        assert.strictEqual((yield* operate({ path: "/admin/v1/workspaces" })).status, 200)
        const { annotations, level } = lines[0]!
        assert.strictEqual(level, "Debug")
        assert.deepInclude(annotations, { path: "/admin/v1/workspaces", status: 200 })
        assert.notInclude(JSON.stringify(lines), operatorToken)
      }),
    )
  })
})
