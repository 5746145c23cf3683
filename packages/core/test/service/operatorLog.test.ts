/** The log at `info`: messages, numbers and webhook endpoints, never a text or a phone. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, References } from "effect"
import { TestClock } from "effect/testing"
import { Egress, NumberOperations, Webhooks } from "../../src/index.ts"
import type { Caller } from "../../src/index.ts"
import { Emulator } from "@messaging-service/emulator"
import { heard } from "../Heard.ts"
import { behave, logOut, reconnect, send, sendBatch } from "./Operations.ts"
import { aSender, hour, inAService, minute, pass, settled } from "./Service.ts"

/** Receivers with a status that the test sets. */
const answering = () => {
  const receiver = { status: 500 }
  const unused = () => Effect.die("not asked for in these tests")
  const egress = Layer.succeed(Egress, {
    allows: () => Effect.succeed(true),
    fetch: unused,
    post: () => Effect.sync(() => ({ status: receiver.status, headers: {} })),
  })
  return { receiver, egress }
}

const anEndpoint = (caller: Caller) =>
  Effect.map(
    Webhooks.use((webhooks) => webhooks.create(caller, { url: "https://example.com/" }, null)),
    ({ answer }) => answer.id,
  )

/** Runs a test in a service. It gets the lines of the log, which grow as it continues. */
const logging = <A, E>(
  test: (lines: ReadonlyArray<string>) => Parameters<typeof inAService<A, E>>[0],
  parts: Parameters<typeof inAService>[1] = {},
) => {
  const lines: Array<string> = []
  return heard(lines, inAService(test(lines), parts))
}

describe("the log", () => {
  it.effect("names failed messages, and the pause after the remote server's refusals", () =>
    logging((lines) =>
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { send: "fail", errorMessage: "463" })
        const messages = yield* sendBatch(key, 6)
        yield* settled
        assert.deepStrictEqual(lines, [
          ...messages
            .slice(0, 5)
            .map(
              ({ id }) => `Info message failed message_id=${id} number=${number} code=send_failed`,
            ),
          `Warn number paused number=${number} reason=restricted until=2026-03-02T13:00:00Z`,
        ])
      }),
    ),
  )

  it.effect("reports an operator's pause and resume", () =>
    logging((lines) =>
      Effect.gen(function* () {
        const { number, workspace } = yield* aSender()
        const operations = yield* NumberOperations
        yield* operations.pause("owner", workspace, number, { until: null })
        yield* operations.resume("owner", workspace, number)
        assert.deepStrictEqual(lines, [
          `Info number paused number=${number} reason=paused until=null`,
          `Info number resumed number=${number}`,
        ])
      }),
    ),
  )

  it.effect("limits a message to 20 lines a minute, and counts the others", () =>
    logging((lines) =>
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        // A refusal about the recipient, so the number continues.
        yield* Emulator.use((emulator) => emulator.setRegistered({ phones: [] }))
        yield* sendBatch(key, 50)
        yield* settled
        assert.lengthOf(lines, 20)
        yield* TestClock.adjust(minute)
        const later = yield* send(key)
        yield* settled
        assert.lengthOf(lines, 21)
        assert.strictEqual(
          lines[20],
          `Info message failed message_id=${later.id} number=${number} code=recipient_not_found held_back=30`,
        )
      }),
    ),
  )

  it.effect("warns once of a number that was logged out, by the phone or by an operator", () =>
    logging((lines) =>
      Effect.gen(function* () {
        const { number, workspace } = yield* aSender()
        yield* logOut(number)
        yield* settled
        const line = `Warn number disconnected: logged_out number=${number}`
        assert.deepStrictEqual(lines, [line])
        yield* reconnect(number)
        yield* NumberOperations.use((each) => each.logOut("owner", workspace, number))
        yield* settled
        assert.deepStrictEqual(lines, [line, line])
      }),
    ),
  )

  it.effect("writes none of it where `info` is off", () => {
    const lines: Array<string> = []
    return heard(
      lines,
      inAService(
        Effect.gen(function* () {
          const { key, number } = yield* aSender()
          yield* behave(number, { send: "fail" })
          yield* send(key)
          yield* settled
        }),
      ),
    ).pipe(
      Effect.provideService(References.MinimumLogLevel, "Warn"),
      Effect.tap(() => Effect.sync(() => assert.deepStrictEqual(lines, []))),
    )
  })

  it.effect("reports once when an endpoint starts to fail, and once when it recovers", () => {
    const { egress, receiver } = answering()
    return logging(
      (lines) =>
        Effect.gen(function* () {
          const { key } = yield* aSender()
          const endpoint = yield* anEndpoint(key)
          yield* send(key)
          yield* send(key)
          yield* pass(hour)
          const fails = `Info webhook endpoint fails endpoint=${endpoint} error=http_status status=500`
          assert.deepStrictEqual(lines, [fails])
          receiver.status = 200
          yield* pass(24 * hour)
          yield* send(key)
          yield* settled
          const recovered = `Info webhook endpoint recovered endpoint=${endpoint}`
          assert.deepStrictEqual(lines, [fails, recovered])
        }),
      { egress },
    )
  })

  it.effect("reports a stopped endpoint, and not before it has stopped", () => {
    const { egress } = answering()
    return logging(
      (lines) =>
        Effect.gen(function* () {
          const { key } = yield* aSender()
          const endpoint = yield* anEndpoint(key)
          yield* send(key)
          // An event is out of attempts after a day; an endpoint stops after five days of silence.
          for (let hours = 0; hours < 30; hours++) yield* pass(hour)
          assert.lengthOf(lines, 1)
          for (let hours = 0; hours < 100; hours++) yield* pass(hour)
          yield* send(key)
          for (let hours = 0; hours < 30; hours++) yield* pass(hour)
          assert.deepStrictEqual(lines.slice(1), [
            `Warn webhook endpoint stopped endpoint=${endpoint} reason=delivery_failures`,
          ])
        }),
      { egress },
    )
  })
})
