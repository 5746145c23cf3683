/** Workers that link numbers: events of the remote server, leases, and concurrent attempts. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Queue, Stream } from "effect"
import { WakeUp, sharedLimits, Store } from "../../src/index.ts"
import type { LinkingEvent, LinkingRequest } from "../../src/index.ts"
import { linkingLeaseMillis, linkingMillis } from "../../src/model/Linking.ts"
import {
  inAService,
  minute,
  noon,
  pass,
  second,
  settled,
  startWorker,
  stopWorker,
} from "./Service.ts"
import { connect, read, scan, aKeyToConnect, qrText, findAttempt, linkingBy } from "./Linking.ts"

describe("a linking transport", () => {
  const phone = "15550002222"

  it.effect("has each step stored, up to the link", () =>
    Effect.gen(function* () {
      const said = yield* Queue.unbounded<LinkingEvent>()
      const requests: Array<LinkingRequest> = []
      yield* inAService(
        Effect.gen(function* () {
          const key = yield* aKeyToConnect
          const number = yield* connect(key)
          yield* settled
          assert.deepStrictEqual(requests, [{ numberId: number.id, method: "qr", phone: null }])
          assert.deepStrictEqual((yield* read(key, number)).connect, {
            qrCodeUrl: null,
            qrCodeExpiresAt: null,
            pairingCode: null,
            linking: false,
            requestedAt: noon,
            endsAt: noon + linkingMillis,
          })
          yield* Queue.offer(said, { _tag: "QrShown", text: "2@abc", expiresAt: 0 })
          yield* settled
          assert.strictEqual(yield* qrText(key, number), "2@abc")
          yield* Queue.offer(said, { _tag: "Taken" })
          yield* settled
          assert.isTrue((yield* read(key, number)).connect?.linking)
          yield* Queue.offer(said, { _tag: "Linked", phone })
          yield* settled
          assert.deepInclude(yield* read(key, number), { status: "connected", phone })
        }),
        {
          linking: linkingBy((request) => {
            requests.push(request)
            return Stream.fromQueue(said)
          }),
        },
      )
    }),
  )

  it.effect("ends the attempt at once when it cannot link at all", () =>
    inAService(
      Effect.gen(function* () {
        const key = yield* aKeyToConnect
        const number = yield* connect(key)
        yield* settled
        assert.deepInclude(yield* read(key, number), { status: "disconnected", connect: null })
      }),
      {
        linking: linkingBy(() => Stream.make({ _tag: "Failed", reason: "a passkey is asked for" })),
      },
    ),
  )

  it.effect("that sends nothing is asked once a second until the time is over", () => {
    let requests = 0
    return inAService(
      Effect.gen(function* () {
        const key = yield* aKeyToConnect
        const number = yield* connect(key)
        yield* pass(minute)
        assert.isAtLeast(requests, 30)
        assert.isAtMost(requests, 62)
        yield* pass(9 * minute)
        assert.strictEqual((yield* read(key, number)).status, "disconnected")
        const before = requests
        yield* pass(minute)
        assert.strictEqual(requests, before)
      }),
      {
        linking: linkingBy(() => {
          requests++
          return Stream.empty
        }),
      },
    )
  })

  it.effect("that sends a code and ends at once is asked once a second too", () => {
    let requests = 0
    return inAService(
      Effect.gen(function* () {
        const key = yield* aKeyToConnect
        const number = yield* connect(key)
        yield* pass(minute)
        assert.isAtLeast(requests, 30)
        assert.isAtMost(requests, 62)
        assert.strictEqual((yield* read(key, number)).status, "connecting")
      }),
      {
        linking: linkingBy(() => {
          // Without a pause this would never end.
          if (++requests > 1000) return Stream.never
          return Stream.make({ _tag: "QrShown" as const, text: `code ${requests}`, expiresAt: 0 })
        }),
      },
    )
  })

  it.effect("is closed when the attempt is over, however it ended", () => {
    const open = new Set<number>()
    return inAService(
      Effect.gen(function* () {
        const key = yield* aKeyToConnect
        const scanned = yield* connect(key)
        const left = yield* connect(key)
        yield* settled
        assert.strictEqual(open.size, 2)
        yield* scan(scanned)
        yield* pass(linkingLeaseMillis)
        assert.deepStrictEqual([...open], [left.id])
        yield* pass(10 * minute)
        assert.strictEqual(open.size, 0)
      }),
      {
        linking: linkingBy(({ numberId }) =>
          Stream.never.pipe(
            Stream.onStart(Effect.sync(() => open.add(numberId))),
            Stream.ensuring(Effect.sync(() => open.delete(numberId))),
          ),
        ),
      },
    )
  })
})

describe("several workers", () => {
  it.effect("run an attempt once; when one stops, another continues with fresh codes", () => {
    let connections = 0
    const counting = linkingBy(() =>
      Stream.concat(
        Stream.sync((): LinkingEvent => ({
          _tag: "QrShown",
          text: `2@${++connections}`,
          expiresAt: 0,
        })),
        Stream.never,
      ),
    )
    return inAService(
      Effect.gen(function* () {
        const first = yield* startWorker
        const key = yield* aKeyToConnect
        const number = yield* connect(key)
        yield* settled
        yield* startWorker
        yield* pass(2 * minute)
        assert.strictEqual(connections, 1)
        yield* stopWorker(first)
        yield* pass(second)
        assert.strictEqual(connections, 2)
        assert.strictEqual(yield* qrText(key, number), "2@2")
      }),
      { linking: counting, worker: false },
    )
  })

  it.effect("take over an attempt whose lease was not renewed", () => {
    let connections = 0
    return inAService(
      Effect.gen(function* () {
        const key = yield* aKeyToConnect
        yield* connect(key)
        const now = yield* Clock.currentTimeMillis
        const leaseUntil = now + linkingLeaseMillis
        // Like a worker that died right after its claim.
        yield* Store.use(({ numbers: store }) =>
          store.claimLinkings({
            now,
            leaseUntil,
            limit: 10,
            perWorkspace: 10,
            held: new Map(),
            owned: "all",
          }),
        )
        yield* startWorker
        yield* pass(linkingLeaseMillis - 1)
        assert.strictEqual(connections, 0)
        yield* pass(1)
        assert.strictEqual(connections, 1)
      }),
      {
        linking: linkingBy(() => {
          connections++
          return Stream.never
        }),
        worker: false,
      },
    )
  })
})

describe("a workspace that links many numbers at once", () => {
  it.effect("gets its share of a worker's attempts; those above it wait, and lapse as usual", () =>
    Effect.gen(function* () {
      const { most } = sharedLimits.linkAttempts.share
      const said = yield* Queue.unbounded<LinkingEvent>()
      let connections = 0
      yield* inAService(
        Effect.gen(function* () {
          const key = yield* aKeyToConnect
          const numbers = yield* Effect.forEach(Array.from({ length: most + 3 }), () =>
            connect(key),
          )
          yield* settled
          assert.strictEqual(connections, most)
          yield* connect(yield* aKeyToConnect)
          yield* settled
          assert.strictEqual(connections, most + 1)
          // The end of one makes room for the next.
          yield* Queue.offer(said, { _tag: "Failed", reason: "a test" })
          yield* settled
          assert.strictEqual(connections, most + 2)
          yield* pass(9 * minute)
          const waiting = numbers.slice(-2)
          const statuses = Effect.forEach(waiting, (number) =>
            Effect.map(read(key, number), ({ status }) => status),
          )
          assert.deepStrictEqual(yield* statuses, ["connecting", "connecting"])
          yield* pass(minute)
          assert.deepStrictEqual(yield* statuses, ["disconnected", "disconnected"])
          assert.strictEqual(connections, most + 2)
        }),
        {
          linking: linkingBy(() => {
            connections++
            return Stream.fromEffect(Queue.take(said))
          }),
        },
      )
    }),
  )
})

describe("a lease that expired under its holder", () => {
  it.effect("is acquired again, and the connection continues", () =>
    Effect.gen(function* () {
      const said = yield* Queue.unbounded<LinkingEvent>()
      let connections = 0
      yield* inAService(
        Effect.gen(function* () {
          const key = yield* aKeyToConnect
          const number = yield* connect(key)
          yield* settled
          const { id } = (yield* findAttempt(number))!
          const now = yield* Clock.currentTimeMillis
          // The first claim of an attempt has lease 1.
          const ranOut = Store.use(({ numbers: store }) =>
            store.renewLinkings([{ id, lease: 1 }], now),
          )
          assert.deepStrictEqual(yield* ranOut, new Set([id]))
          yield* WakeUp.use((wakeUp) => wakeUp.wake("linking"))
          yield* settled
          assert.deepStrictEqual(yield* ranOut, new Set())
          yield* Queue.offer(said, { _tag: "QrShown", text: "2@later", expiresAt: 0 })
          yield* pass(minute)
          assert.strictEqual(yield* qrText(key, number), "2@later")
          assert.strictEqual(connections, 1)
        }),
        {
          linking: linkingBy(() => {
            connections++
            return Stream.fromQueue(said)
          }),
        },
      )
    }),
  )
})
