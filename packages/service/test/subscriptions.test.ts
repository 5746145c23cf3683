/** `subscribe`: positions under a name, one handler at a time, no event skipped. */
import { assert, layer } from "@effect/vitest"
import { EmbeddedPostgres } from "@messaging-service/testkit"
import { Effect } from "effect"
import { dirname } from "node:path"
import { Pool } from "pg"
import { describe, it } from "vitest"
import { openTest } from "../src/testing/index.ts"
import type { MessageEvent } from "../src/index.ts"
import { aDatabase, aShop, eventually, failure, opened, phone } from "./Opened.ts"

const texts = (events: ReadonlyArray<MessageEvent>) => events.map(({ message }) => message.text)

const seconds = 1000

describe("a subscription", () => {
  it("hears what happened since its name was first used, whoever listened meanwhile", async () => {
    const t = await openTest()
    const send = (text: string) => t.api.messages.send({ to: { phone }, text })
    await send("before")
    const heard: Array<MessageEvent> = []
    const first = t.messaging.subscribe("receipts", "message.sent", (event) => heard.push(event))
    await first.ready
    await send("one")
    await first.stop()
    await send("two")
    await t.api.messages.cancel(
      (await t.api.messages.send({ to: { phone }, text: "no", sendAt: new Date(2 ** 42) })).id,
    )
    assert.deepStrictEqual(texts(heard), ["one"])
    t.messaging.subscribe("receipts", ["message.sent"], (event) => heard.push(event))
    await send("three")
    assert.deepStrictEqual(texts(heard), ["one", "two", "three"])
    await t.close()
  })

  it("gets a failed event again after growing pauses, and skips none", async () => {
    const t = await openTest({ at: "2026-01-01T00:00:00Z" })
    const tries: Array<number> = []
    let works = false
    t.messaging.subscribe("receipts", "message.sent", ({ message }) => {
      if (message.text !== "bad") return
      tries.push(t.now.getTime() - Date.UTC(2026, 0, 1))
      if (!works) throw new Error("not yet")
    })
    const heard: Array<string> = []
    t.messaging.subscribe("another", "message.sent", ({ message }) => heard.push(message.text))
    await t.api.messages.send({ to: { phone }, text: "bad" })
    await t.api.messages.send({ to: { phone }, text: "good" })
    assert.deepStrictEqual(heard, ["bad", "good"])
    await t.advance({ minutes: 40 })
    const pauses = tries.map((at, index) => at - (tries[index - 1] ?? 0))
    assert.deepStrictEqual(
      pauses,
      [0, 1, 5, 30, 120, 600, 600, 600].map((pause) => pause * seconds),
    )
    works = true
    await t.advance({ minutes: 10 })
    const handled = tries.length
    await t.advance({ days: 1 })
    assert.lengthOf(tries, handled)
    await t.close()
  })

  it("lets one of two calls with a name handle events, and the other go on after it", async () => {
    const t = await openTest()
    const heard: Array<string> = []
    const listen = (who: string) =>
      t.messaging.subscribe("receipts", "message.sent", ({ message }) => {
        heard.push(`${who} ${message.text}`)
      })
    const [one, two] = [listen("one"), listen("two")]
    await Promise.all([one.ready, two.ready])
    await t.api.messages.send({ to: { phone }, text: "a" })
    await one.stop()
    await t.api.messages.send({ to: { phone }, text: "b" })
    assert.deepStrictEqual(heard, ["one a", "two b"])
    await t.close()
  })

  it("leaves its name to the next call only once a handler that runs has ended", async () => {
    const t = await openTest()
    const steps: Array<string> = []
    const handlers: Array<() => void> = []
    const one = t.messaging.subscribe("receipts", "message.sent", async ({ message }) => {
      steps.push(`one begins ${message.text}`)
      await new Promise<void>((resolve) => handlers.push(resolve))
      steps.push(`one ends ${message.text}`)
    })
    t.messaging.subscribe("receipts", "message.sent", ({ message }) => {
      steps.push(`two ${message.text}`)
    })
    await t.api.messages.send({ to: { phone }, text: "a" })
    await one.stop()
    await t.api.messages.send({ to: { phone }, text: "b" })
    assert.deepStrictEqual(steps, ["one begins a"])
    for (const finish of handlers) finish()
    await t.advance({ seconds: 1 })
    assert.deepStrictEqual(steps, ["one begins a", "one ends a", "two b"])
    await t.close()
  })

  it("is still there after a year with nothing to hear", async () => {
    const t = await openTest()
    const heard: Array<MessageEvent> = []
    t.messaging.subscribe("receipts", "message.sent", (event) => heard.push(event))
    await t.advance({ days: 365 })
    await t.api.messages.send({ to: { phone }, text: "late" })
    assert.deepStrictEqual(texts(heard), ["late"])
    await t.close()
  })

  it("is forgotten 30 days after its last use, and 100 names are the most", async () => {
    const t = await openTest()
    const listen = (at: number) => t.messaging.subscribe(`${at}`, "message.sent", () => undefined)
    for (let at = 0; at < 100; at++) {
      const subscription = listen(at)
      await subscription.ready
      await subscription.stop()
    }
    const { code, field } = await failure(listen(100).ready)
    assert.deepStrictEqual([code, field], ["validation_failed", "name"])
    await t.advance({ days: 32 })
    await listen(100).ready
    await t.close()
  })

  it("refuses wrong arguments, and a closed service", async () => {
    const messaging = await opened()
    const wrong = [
      ["", "message.sent", () => undefined, "name"],
      ["x".repeat(101), "message.sent", () => undefined, "name"],
      [7, "message.sent", () => undefined, "name"],
      ["a", "message.send", () => undefined, "type"],
      ["a", [], () => undefined, "type"],
      ["a", "message.sent", "log", "handler"],
    ] as const
    for (const [name, type, handler, field] of wrong) {
      const call = async () => messaging.subscribe(name as never, type as never, handler as never)
      assert.strictEqual((await failure(call())).field, field)
    }
    await messaging.close()
    const late = async () => messaging.subscribe("a", "message.sent", () => undefined)
    assert.strictEqual((await failure(late())).code, "closed")
  })
})

layer(EmbeddedPostgres.layer(), { excludeTestServices: true })(
  "a subscription of two processes on PostgreSQL",
  (tests) => {
    tests.effect("is handled by one at a time, and by the other when it has closed", () =>
      Effect.gen(function* () {
        const { options } = yield* aDatabase
        yield* Effect.promise(async () => {
          const heard: Array<string> = []
          const begin = async (who: string) => {
            const messaging = await opened(options)
            const subscription = messaging.subscribe("receipts", "message.sent", ({ message }) => {
              heard.push(`${who} ${message.text}`)
            })
            await subscription.ready
            return messaging
          }
          const one = await begin("one")
          const two = await begin("two")
          const { api } = await aShop(two)
          await api.messages.send({ to: { phone }, text: "a" })
          await eventually(() => assert.deepStrictEqual(heard, ["one a"]))
          await one.close()
          await api.messages.send({ to: { phone }, text: "b" })
          await eventually(() => assert.deepStrictEqual(heard, ["one a", "two b"]))
          await api.messages.send({ to: { phone }, text: "c" })
          await two.drain()
          await eventually(() => assert.deepStrictEqual(heard, ["one a", "two b", "two c"]))
        })
      }),
    )

    tests.effect("has its position in the store as soon as an event is handled", () =>
      Effect.gen(function* () {
        const { database, options, path, username } = yield* aDatabase
        const pool = new Pool({ host: dirname(path), user: username, database, max: 1 })
        yield* Effect.promise(async () => {
          const messaging = await opened(options)
          const { api } = await aShop(messaging)
          const heard: Array<MessageEvent> = []
          messaging.subscribe("receipts", "message.sent", (event) => heard.push(event))
          for (const text of ["a", "b"]) {
            await api.messages.send({ to: { phone }, text })
            await eventually(async () => {
              assert.deepStrictEqual(texts(heard).at(-1), text)
              const { rows } = await pool.query(
                "select reached::integer from messaging.subscriptions where name = 'receipts'",
              )
              assert.deepStrictEqual(rows, [{ reached: heard.at(-1)?.position }])
            })
          }
          await pool.end()
        })
      }),
    )

    tests.effect("ends no event in the middle: closing waits for the handler", () =>
      Effect.gen(function* () {
        const { options } = yield* aDatabase
        yield* Effect.promise(async () => {
          const messaging = await opened(options)
          const { api } = await aShop(messaging)
          const steps: Array<string> = []
          let began: () => void = () => undefined
          const started = new Promise<void>((resolve) => {
            began = resolve
          })
          messaging.subscribe("receipts", "message.sent", async () => {
            steps.push("begun")
            began()
            await new Promise((resolve) => setTimeout(resolve, 100))
            steps.push("ended")
          })
          await api.messages.send({ to: { phone }, text: "a" })
          await started
          await messaging.close()
          assert.deepStrictEqual(steps, ["begun", "ended"])
          const after = await opened(options)
          const heard: Array<MessageEvent> = []
          after.subscribe("receipts", "message.sent", (event) => heard.push(event))
          await (await aShop(after)).api.messages.send({ to: { phone }, text: "b" })
          await eventually(() => assert.deepStrictEqual(texts(heard), ["b"]))
        })
      }),
    )
  },
)
