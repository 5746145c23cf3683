/** Closing a service: every kind of running work, and its result. */
import { Connections, Messages, RealTime, IdleMonitor } from "@messaging-service/core"
import { Clock, Context, Effect, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Readable } from "node:stream"
import { assert, describe, it, onTestFinished } from "vitest"
import type { Messaging, OpenOptions } from "../src/index.ts"
import { aShop, all, failure, first, opened, openedWithPhones, phone } from "./Opened.ts"

/** A promise and its resolver. */
const aSignal = () => {
  let resolve: () => void = () => undefined
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

/** Once a phone has a message. */
const inFlight = async (context: Context.Context<IdleMonitor>) => {
  const { check } = Context.get(context, IdleMonitor)
  while ((await Effect.runPromiseWith(context)(check)).inFlight.length === 0)
    await new Promise(setImmediate)
}

const never = new Promise<never>(() => undefined)

/**
 * Content of a file or a request. `started` resolves at the first read, `letGo` when the reader stops.
 */
const contents = {
  "an iterator that never ends": (started: () => void, letGo: () => void) =>
    (async function* () {
      try {
        for (;;) {
          started()
          await new Promise(setImmediate)
          yield new TextEncoder().encode(" ")
        }
      } finally {
        letGo()
      }
    })(),
  "an iterator that says nothing": (started: () => void, letGo: () => void) => ({
    [Symbol.asyncIterator]: () => ({
      next: () => {
        started()
        return never
      },
      return: () => {
        letGo()
        return never
      },
    }),
  }),
  "a stream that never ends": (started: () => void, letGo: () => void) =>
    new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        started()
        await new Promise(setImmediate)
        controller.enqueue(new TextEncoder().encode(" "))
      },
      cancel: letGo,
    }),
  "a stream that says nothing": (started: () => void, letGo: () => void) =>
    new ReadableStream<Uint8Array>({
      pull: () => {
        started()
        return never
      },
      cancel: () => {
        letGo()
        return never
      },
    }),
}

const uploaded = {
  ...contents,
  "a Node stream that says nothing": (started: () => void, letGo: () => void) =>
    new Readable({
      read: started,
      destroy: (error, callback) => {
        letGo()
        callback(error)
      },
    }),
}

/** After a 503 `service_unavailable` callers also repeat requests without a key. */
const isOfUnknownOutcome = async (answer: Response) => {
  const { error } = (await answer.json()) as { readonly error: { readonly code: string } }
  assert.deepStrictEqual(
    [answer.status, error.code, answer.headers.get("retry-after")],
    [500, "internal_error", null],
  )
}

describe("what is under way for longer than closing waits", () => {
  for (const [name, content] of Object.entries(uploaded)) {
    it(`of uploads, from ${name}, fails with closed, and its source is let go`, async () => {
      const messaging = await opened({ worker: false, shutdownMillis: 50 })
      const { api } = await aShop(messaging)
      const started = aSignal()
      const letGo = aSignal()
      const uploading = failure(
        api.media.upload({
          fileName: "a.bin",
          content: content(started.resolve, letGo.resolve) as AsyncIterable<Uint8Array>,
        }),
      )
      await started.promise
      await messaging.close()
      assert.strictEqual((await uploading).code, "closed")
      await letGo.promise
    })
  }

  for (const type of ["application/json", "multipart/form-data; boundary=b"]) {
    for (const basePath of ["/", "/messaging"]) {
      for (const name of ["a stream that never ends", "a stream that says nothing"] as const) {
        it(`of requests below ${basePath}, ${type} from ${name}, is answered 500, and its body is cancelled`, async () => {
          const messaging = await opened({ worker: false, shutdownMillis: 50, http: { basePath } })
          const { shop } = await aShop(messaging)
          const { key } = await messaging.operator(shop).keys.create({ version: 2, name: "Web" })
          const started = aSignal()
          const letGo = aSignal()
          const path = type === "application/json" ? "messages" : "media"
          const init: RequestInit & { readonly duplex: "half" } = {
            method: "POST",
            body: contents[name](started.resolve, letGo.resolve),
            duplex: "half",
            headers: { authorization: `Bearer ${key}`, "content-type": type },
          }
          const requesting = messaging.handler(
            new Request(`http://host${basePath === "/" ? "" : basePath}/api/v2/${path}`, init),
          )
          await started.promise
          await messaging.close()
          const answer = await requesting
          await isOfUnknownOutcome(answer)
          await letGo.promise
        })
      }
    }
  }

  it("of calls and requests, although it cannot be interrupted, fails and is answered alike", async () => {
    const started = aSignal()
    const { messaging } = await openedWithPhones({ worker: false, shutdownMillis: 50 }, (context) =>
      Context.add(context, Connections, {
        ...Context.get(context, Connections),
        list: () =>
          Effect.uninterruptible(Effect.andThen(Effect.sync(started.resolve), Effect.never)),
      }),
    )
    const { api, shop } = await aShop(messaging)
    const { key } = await messaging.operator(shop).keys.create({ version: 2, name: "Web" })
    const listing = failure(api.numbers.list())
    const requesting = messaging.handler(
      new Request("http://host/api/v2/numbers", { headers: { authorization: `Bearer ${key}` } }),
    )
    await started.promise
    await messaging.close()
    assert.strictEqual((await listing).code, "closed")
    await isOfUnknownOutcome(await requesting)
  })

  it("of sends over HTTP, answers that the message may be accepted", async () => {
    const accepted = aSignal()
    const hang = Effect.andThen(Effect.sync(accepted.resolve), Effect.never)
    const { messaging } = await openedWithPhones(
      { worker: false, shutdownMillis: 50 },
      (context) => {
        const messages = Context.get(context, Messages)
        const send: typeof messages.send = (...args) => Effect.tap(messages.send(...args), hang)
        return Context.add(context, Messages, { ...messages, send })
      },
    )
    const { shop } = await aShop(messaging)
    const { key } = await messaging.operator(shop).keys.create({ version: 2, name: "Web" })
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
    const body = JSON.stringify({ to: { phone }, text: "Hello" })
    const requesting = messaging.handler(
      new Request("http://host/api/v2/messages", { method: "POST", headers, body }),
    )
    await accepted.promise
    await messaging.close()
    await isOfUnknownOutcome(await requesting)
  })

  it("of cancels, of a message that a phone has, fails with closed", async () => {
    const { context, messaging, phones } = await openedWithPhones({ shutdownMillis: 50 })
    const { api } = await aShop(messaging)
    const [number] = await api.numbers.list()
    await Effect.runPromise(phones.setBehaviour(number?.id as never, { send: "hang" }))
    const { id } = await api.messages.send({ to: { phone }, text: "Hello" })
    await inFlight(context)
    const cancelling = failure(api.messages.cancel(id))
    await messaging.close()
    assert.strictEqual((await cancelling).code, "closed")
  })

  it("of loops over a list, and of a linking, ends with closed", async () => {
    const messaging = await opened({ worker: false, shutdownMillis: 50 })
    const { api } = await aShop(messaging)
    await api.messages.sendBatch({ to: [{ phone }, { phone }], text: "Hello" })
    const messages = api.messages.list({ limit: 1 })[Symbol.asyncIterator]()
    const linking = api.numbers.link()[Symbol.asyncIterator]()
    assert.strictEqual((await messages.next()).done, false)
    assert.strictEqual((await linking.next()).value?.status, "connecting")
    const ended = failure(linking.next())
    await messaging.close()
    assert.strictEqual((await ended).code, "closed")
    assert.strictEqual((await failure(messages.next())).code, "closed")
  })
})

it("a drain that is under way when the service closes says that it did not finish", async () => {
  const { messaging } = await openedWithPhones({ worker: false }, (context) =>
    Context.add(context, IdleMonitor, {
      ...Context.get(context, IdleMonitor),
      settled: Effect.never,
    }),
  )
  const { api } = await aShop(messaging)
  const heard = first(1)
  messaging.on("message.sent", heard.handler)
  await api.messages.send({ to: { phone }, text: "Hello" })
  const draining = messaging.drain()
  await heard.all
  await messaging.close()
  const { finished, nextDueAt, sent } = await draining
  assert.deepStrictEqual(
    { finished, nextDueAt, sent },
    { finished: false, nextDueAt: null, sent: 1 },
  )
})

describe("closing is no later than it was told", () => {
  const shutdownMillis = 1000

  /** Step of the clock, and the loss per step until the service has noticed all of it. */
  const stepMillis = 5
  const noticedMillis = 100

  /** A service with a clock that the test moves, together with real time. */
  const aServiceInTestTime = async (options: OpenOptions = {}) => {
    const time = await Effect.runPromise(
      Layer.build(TestClock.layer()).pipe(Scope.provide(Scope.makeUnsafe())),
    )
    const { messaging } = await openedWithPhones({ ...options, shutdownMillis }, (context) =>
      Context.merge(context, time).pipe(
        Context.add(RealTime, {
          sleep: Effect.sleep,
          stopwatch: Effect.succeed(() => 0),
          clockJumped: Effect.never,
          systemMillis: Clock.currentTimeMillis,
        }),
      ),
    )
    const run = Effect.runPromiseWith(time)
    /** How long closing takes, in milliseconds. */
    const close = async () => {
      let isClosed = false
      const began = await run(Clock.currentTimeMillis)
      void messaging.close().finally(() => {
        isClosed = true
      })
      for (;;) {
        await new Promise(setImmediate)
        if (isClosed) return (await run(Clock.currentTimeMillis)) - began
        await run(TestClock.adjust(stepMillis))
      }
    }
    return { messaging, close }
  }

  const hangs: Readonly<Record<string, (messaging: Messaging) => Promise<void>>> = {
    "a listener": async (messaging) => {
      const { api } = await aShop(messaging)
      const started = aSignal()
      messaging.on("message.sent", () => {
        started.resolve()
        return never
      })
      await api.messages.send({ to: { phone }, text: "Hello" })
      await started.promise
    },
    "the source of an upload": async (messaging) => {
      const { api } = await aShop(messaging)
      const started = aSignal()
      const content = contents["an iterator that says nothing"](started.resolve, () => undefined)
      failure(api.media.upload({ fileName: "a.bin", content })).catch(() => undefined)
      await started.promise
    },
  }
  for (const [name, hang] of Object.entries(hangs)) {
    it(`where ${name} never ends`, async () => {
      const { close, messaging } = await aServiceInTestTime()
      await hang(messaging)
      const millis = await close()
      assert.isAtLeast(millis, shutdownMillis)
      assert.isAtMost(millis, shutdownMillis + noticedMillis)
    })
  }

  it("and at once where a listener fails because it calls the service", async () => {
    const { close, messaging } = await aServiceInTestTime({ logLevel: "error" })
    const { api } = await aShop(messaging)
    const started = aSignal()
    messaging.on("message.sent", async () => {
      for (;;) {
        await api.account()
        started.resolve()
        await new Promise(setImmediate)
      }
    })
    await api.messages.send({ to: { phone }, text: "Hello" })
    await started.promise
    assert.isAtMost(await close(), noticedMillis)
  })

  it("but for two seconds that a collector may take which does not answer", async () => {
    const silent = createServer(() => undefined)
    await new Promise<void>((resolve) => {
      silent.listen(0, "127.0.0.1", resolve)
    })
    onTestFinished(() => {
      silent.closeAllConnections()
      silent.close()
    })
    const { port } = silent.address() as AddressInfo
    const { close, messaging } = await aServiceInTestTime({
      worker: false,
      telemetry: { otlp: `http://127.0.0.1:${port}` },
    })
    await aShop(messaging)
    const millis = await close()
    assert.isAtLeast(millis, 2000)
    assert.isAtMost(millis, 2000 + noticedMillis)
  })

  it("and at once where nothing is under way", async () => {
    const { close, messaging } = await aServiceInTestTime()
    await aShop(messaging)
    assert.isAtMost(await close(), noticedMillis)
  })
})

it("a listener may close the service that tells it", async () => {
  const messaging = await opened({ shutdownMillis: 50 })
  const { api } = await aShop(messaging)
  const closed = aSignal()
  messaging.on("message.sent", async () => {
    await messaging.close()
    closed.resolve()
  })
  await api.messages.send({ to: { phone }, text: "Hello" })
  await closed.promise
  assert.strictEqual((await failure(all(api.messages.list()))).code, "closed")
})
