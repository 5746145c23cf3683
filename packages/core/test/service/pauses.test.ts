import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { NumberOperations, Numbers, Store } from "../../src/index.ts"
import type { NumberId, WorkspaceId } from "../../src/index.ts"
import {
  behave,
  cancel,
  code,
  copies,
  logOut,
  reconnect,
  send,
  sendBatch,
  status,
  statuses,
} from "./Operations.ts"
import {
  ahead,
  aNumber,
  aSender,
  aWorkspace,
  hour,
  inAService,
  minute,
  noon,
  pass,
  second,
  settled,
} from "./Service.ts"

interface Sender {
  readonly number: NumberId
  readonly workspace: WorkspaceId
}

const connection = ({ number, workspace }: Sender) =>
  NumberOperations.use((all) => all.connection("owner", workspace, number))
const pause = ({ number, workspace }: Sender, until: string | null = null) =>
  NumberOperations.use((all) => all.pause("owner", workspace, number, { until }))
const resume = ({ number, workspace }: Sender) =>
  NumberOperations.use((all) => all.resume("owner", workspace, number))

describe("a paused number", () => {
  it.effect("sends nothing until the pause ends or is resumed", () =>
    inAService(
      Effect.gen(function* () {
        const sender = yield* aSender()
        const shown = yield* pause(sender, yield* ahead(hour))
        assert.deepInclude(shown, {
          state: "connected",
          reason: "paused",
          pausedUntil: noon + hour,
          nextSendAt: null,
        })
        const messages = yield* sendBatch(sender.key, 2)
        assert.deepInclude(yield* connection(sender), { waiting: 2, nextSendAt: noon + hour })
        yield* pass(hour - 1)
        assert.lengthOf(yield* copies(), 0)
        yield* pass(1)
        assert.deepStrictEqual(yield* statuses(sender.key, messages), ["sent", "sent"])
        yield* pause(sender)
        const more = yield* send(sender.key)
        yield* pass(1000 * hour)
        assert.strictEqual(yield* status(sender.key, more), "queued")
        assert.deepInclude(yield* connection(sender), {
          reason: "paused",
          pausedUntil: null,
          nextSendAt: null,
          waiting: 1,
        })
        assert.deepInclude(yield* resume(sender), { reason: null, pausedUntil: null })
        yield* settled
        assert.strictEqual(yield* status(sender.key, more), "sent")
      }),
    ),
  )

  it.effect("sends on time when the pause gets an end, or an earlier one", () =>
    inAService(
      Effect.gen(function* () {
        const sender = yield* aSender()
        for (const before of [null, yield* ahead(2 * hour)]) {
          yield* pause(sender, before)
          const message = yield* send(sender.key)
          yield* settled
          yield* pause(sender, yield* ahead(minute))
          yield* pass(minute - 1)
          assert.strictEqual(yield* status(sender.key, message), "queued")
          yield* pass(1)
          assert.strictEqual(yield* status(sender.key, message), "sent")
        }
      }),
    ),
  )

  it.effect(
    "lets waiting messages expire and be cancelled, and stays paused when it reconnects",
    () =>
      inAService(
        Effect.gen(function* () {
          const sender = yield* aSender()
          yield* pause(sender)
          const expiring = yield* send(sender.key, { expiresAt: yield* ahead(minute) })
          const cancelled = yield* send(sender.key)
          yield* logOut(sender.number)
          yield* reconnect(sender.number)
          yield* pass(minute)
          assert.strictEqual(yield* status(sender.key, expiring), "expired")
          assert.strictEqual((yield* cancel(sender.key, cancelled)).status, "cancelled")
          assert.lengthOf(yield* copies(), 0)
        }),
      ),
  )

  it.effect("needs a future end, an existing number and permission", () =>
    inAService(
      Effect.gen(function* () {
        const sender = yield* aSender()
        const operations = yield* NumberOperations
        const { number, workspace } = sender
        assert.strictEqual(yield* code(pause(sender, "1999-01-01T00:00:00Z")), "time_in_past")
        assert.strictEqual(yield* code(pause(sender, "tomorrow")), "invalid_datetime")
        const other = yield* aWorkspace()
        for (const request of [
          operations.connection("owner", other, number),
          operations.pause("owner", other, number, {}),
          operations.resume("owner", other, number),
          Effect.asVoid(operations.logOut("owner", other, number)),
        ]) {
          assert.strictEqual(yield* code(request), "number_not_found")
        }
        assert.strictEqual(
          yield* code(operations.pause("member", workspace, number, {})),
          "role_required",
        )
      }),
    ),
  )
})

describe("the breaker", () => {
  it.effect("pauses for an hour after five consecutive refusals, then for twice as long", () =>
    inAService(
      Effect.gen(function* () {
        const sender = yield* aSender()
        yield* behave(sender.number, { send: "fail", errorMessage: "463" })
        const messages = yield* sendBatch(sender.key, 11)
        yield* settled
        const failedNow = Effect.map(
          statuses(sender.key, messages),
          (all) => all.filter((one) => one === "failed").length,
        )
        assert.strictEqual(yield* failedNow, 5)
        assert.deepInclude(yield* connection(sender), {
          state: "connected",
          reason: "restricted",
          pausedUntil: noon + hour,
          nextSendAt: noon + hour,
          waiting: 6,
        })
        yield* pass(hour)
        assert.strictEqual(yield* failedNow, 10)
        assert.strictEqual((yield* connection(sender)).pausedUntil, noon + 3 * hour)
        yield* behave(sender.number, {})
        yield* pass(2 * hour)
        assert.strictEqual(yield* status(sender.key, messages[10]!), "sent")
        // One accepted message resets it: the next pause is an hour again.
        yield* behave(sender.number, { send: "fail" })
        yield* sendBatch(sender.key, 5)
        yield* settled
        assert.strictEqual((yield* connection(sender)).pausedUntil, noon + 4 * hour)
      }),
    ),
  )

  it.effect(
    "is reported with its end while conversations are on, an operator's and the breaker's",
    () =>
      inAService(
        Effect.gen(function* () {
          const { chats, webhooks } = yield* Store
          const sender = yield* aSender()
          yield* chats.putConversations(sender.workspace, {
            groups: false,
            retentionDays: 30,
            media: "off",
            maxFileBytes: 1,
            maxStorageBytes: 0,
            holdNewChats: false,
            since: noon,
          })
          yield* pause(sender, yield* ahead(minute))
          yield* pass(minute)
          yield* behave(sender.number, { send: "fail", errorMessage: "463" })
          yield* sendBatch(sender.key, 5)
          yield* settled
          yield* pass(hour)
          const reported = yield* webhooks.readEvents(0, 100)
          assert.deepStrictEqual(
            reported.flatMap(({ createdAt, type }) =>
              type.startsWith("number.") ? [[type, createdAt - noon]] : [],
            ),
            [
              ["number.paused", 0],
              ["number.resumed", minute],
              ["number.paused", minute],
              ["number.resumed", minute + hour],
            ],
          )
        }),
      ),
  )

  it.effect("ignores refusals about the recipient, and an operator can end it", () =>
    inAService(
      Effect.gen(function* () {
        const sender = yield* aSender()
        for (let sent = 0; sent < 8; sent++) {
          yield* send(sender.key, { to: { phone: "+15550010000" } })
        }
        yield* settled
        assert.isNull((yield* connection(sender)).reason)
        yield* behave(sender.number, { send: "fail" })
        yield* sendBatch(sender.key, 5)
        yield* settled
        assert.strictEqual((yield* connection(sender)).reason, "restricted")
        yield* behave(sender.number, {})
        yield* resume(sender)
        const next = yield* send(sender.key)
        yield* settled
        assert.strictEqual(yield* status(sender.key, next), "sent")
      }),
    ),
  )

  it.effect("stays when an operator pauses the number too, and resumes that pause", () =>
    inAService(
      Effect.gen(function* () {
        const sender = yield* aSender()
        yield* behave(sender.number, { send: "fail" })
        yield* sendBatch(sender.key, 5)
        yield* settled
        yield* behave(sender.number, {})
        const waiting = yield* send(sender.key)
        assert.deepInclude(yield* pause(sender), { reason: "paused", pausedUntil: null })
        assert.deepInclude(yield* pause(sender, yield* ahead(minute)), {
          reason: "restricted",
          pausedUntil: noon + hour,
        })
        yield* pass(hour - 1)
        assert.strictEqual(yield* status(sender.key, waiting), "queued")
        yield* pass(1)
        assert.strictEqual(yield* status(sender.key, waiting), "sent")
      }),
    ),
  )

  it.effect("a banned number stays paused after it is linked again, until resumed", () =>
    inAService(
      Effect.gen(function* () {
        const sender = yield* aSender()
        yield* Numbers.use((all) =>
          all.connectionChanged(sender.number, "disconnected", null, "banned"),
        )
        assert.deepInclude(yield* connection(sender), {
          state: "disconnected",
          reason: "banned",
          since: noon,
        })
        const message = yield* send(sender.key, { from: sender.number })
        yield* pass(minute)
        yield* reconnect(sender.number)
        yield* pass(hour)
        assert.deepInclude(yield* connection(sender), {
          state: "connected",
          reason: "banned",
          pausedUntil: null,
          since: noon + minute,
        })
        assert.strictEqual(yield* status(sender.key, message), "queued")
        yield* resume(sender)
        yield* settled
        assert.strictEqual(yield* status(sender.key, message), "sent")
      }),
    ),
  )
})

describe("the connection of a simulated number", () => {
  it.effect("shows what waits, what was sent, and when the next may leave", () =>
    inAService(
      Effect.gen(function* () {
        const sender = yield* aSender()
        assert.deepStrictEqual(yield* connection(sender), {
          ...(yield* connection(sender)),
          state: "connected",
          reason: null,
          since: noon,
          lastSeenAt: null,
          pausedUntil: null,
          reconnects: 0,
          worker: "worker",
          waiting: 0,
          nextSendAt: null,
          sent24h: 0,
        })
        yield* Numbers.use((all) =>
          all.update("owner", sender.workspace, sender.number, {
            pacing: { minIntervalMillis: 1000, perHour: 2 },
          }),
        )
        yield* sendBatch(sender.key, 3)
        yield* settled
        assert.deepInclude(yield* connection(sender), {
          lastSeenAt: noon,
          waiting: 2,
          sent24h: 1,
          nextSendAt: noon + second,
        })
        yield* pass(second)
        assert.deepInclude(yield* connection(sender), { sent24h: 2, nextSendAt: noon + hour })
        yield* send(sender.key, { sendAt: yield* ahead(2 * hour) })
        yield* pass(hour)
        const [later] = [noon + second + 2 * hour]
        assert.deepInclude(yield* connection(sender), { waiting: 1, nextSendAt: later })
        yield* pass(24 * hour)
        assert.deepInclude(yield* connection(sender), { waiting: 0, sent24h: 1 })
      }),
    ),
  )

  it.effect("is logged out by an operator: disconnected, and its messages wait", () =>
    inAService(
      Effect.gen(function* () {
        const sender = yield* aSender()
        const { number, workspace } = sender
        const unlinked = yield* aNumber(workspace, {
          phone: "+15550000107",
          status: "disconnected",
        })
        assert.deepInclude(yield* connection({ number: unlinked, workspace }), {
          state: "disconnected",
          reason: "not_linked",
        })
        assert.deepInclude(yield* pause({ number: unlinked, workspace }), { reason: "paused" })
        yield* NumberOperations.use((all) => all.logOut("owner", workspace, unlinked))
        yield* resume({ number: unlinked, workspace })
        assert.deepInclude(yield* connection({ number: unlinked, workspace }), {
          state: "disconnected",
          reason: "not_linked",
        })
        yield* pass(minute)
        const shown = yield* NumberOperations.use((all) => all.logOut("owner", workspace, number))
        assert.strictEqual(shown.status, "disconnected")
        assert.deepInclude(yield* connection(sender), {
          state: "disconnected",
          reason: "logged_out",
          since: noon + minute,
        })
        const message = yield* send(sender.key, { from: number })
        yield* pass(hour)
        assert.strictEqual(yield* status(sender.key, message), "queued")
        assert.deepInclude(yield* connection(sender), { waiting: 1, nextSendAt: null })
      }),
    ),
  )
})
