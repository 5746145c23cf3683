/** `SessionStore`: a number's state for live transports. */
import { assert } from "@effect/vitest"
import { Store } from "@messaging-service/core"
import type { KeyChange, NumberId } from "@messaging-service/core"
import { Effect } from "effect"
import type { Topic } from "../Topic.ts"
import { turnOn } from "./conversations.ts"
import { aMessage, aNumber, aStage, aWorkspace, hour, noon, oneSecond } from "../Records.ts"
import { claimOne, connectionFacts } from "../Sending.ts"

const key = (type: string, id: string, value: string | null): KeyChange => ({ type, id, value })

/** The stored session of a number; undefined when it has none. */
const readStored = (numberId: NumberId) =>
  Store.use(({ sessions: { list } }) =>
    Effect.map(list, (all) => all.find((one) => one.numberId === numberId)),
  )

const readValues = (numberId: NumberId, type: string, ids: ReadonlyArray<string>) =>
  Store.use(({ sessions: store }) =>
    Effect.map(store.keys(numberId, type, ids), (found) => Object.fromEntries(found)),
  )

export const sessions: Topic = (it) => {
  it.effect("credentials and keys are kept as given, each under its type and id", () =>
    Effect.gen(function* () {
      const store = (yield* Store).sessions
      const { number } = yield* aStage()
      assert.isNull(yield* store.credentials(number.id))
      yield* store.write(
        number.id,
        "crédentials",
        [key("session", "1.0", "a"), key("pre-key", "1.0", "b"), key("session", 'ü "2"', "c")],
        noon,
        null,
      )
      assert.strictEqual(yield* store.credentials(number.id), "crédentials")
      assert.deepStrictEqual(yield* readValues(number.id, "session", ["1.0", 'ü "2"', "3.0"]), {
        "1.0": "a",
        'ü "2"': "c",
      })
      assert.deepStrictEqual(yield* readValues(number.id, "pre-key", ["1.0"]), { "1.0": "b" })
      assert.deepStrictEqual(yield* readValues(number.id, "pre-key", []), {})
    }),
  )

  it.effect("one write changes, adds and drops keys of several types, and no others", () =>
    Effect.gen(function* () {
      const store = (yield* Store).sessions
      const { number } = yield* aStage()
      yield* store.write(
        number.id,
        "first",
        [key("a", "1", "one"), key("a", "2", "two"), key("b", "1", "three")],
        noon,
        null,
      )
      yield* store.write(
        number.id,
        null,
        [key("a", "1", null), key("a", "2", "2"), key("b", "2", "4"), key("c", "1", null)],
        noon,
        null,
      )
      assert.strictEqual(yield* store.credentials(number.id), "first")
      assert.deepStrictEqual(yield* readValues(number.id, "a", ["1", "2"]), { "2": "2" })
      assert.deepStrictEqual(yield* readValues(number.id, "b", ["1", "2"]), {
        "1": "three",
        "2": "4",
      })
      yield* store.write(number.id, "second", [], noon, null)
      assert.strictEqual(yield* store.credentials(number.id), "second")
      assert.deepStrictEqual(yield* readValues(number.id, "a", ["2"]), { "2": "2" })
    }),
  )

  it.effect("concurrent writes are all kept", () =>
    Effect.gen(function* () {
      const store = (yield* Store).sessions
      const { number } = yield* aStage()
      const ids = Array.from({ length: 20 }, (_, index) => String(index))
      yield* Effect.forEach(
        ids,
        (id) =>
          store.write(
            number.id,
            "credentials",
            [key("k", id, id), key("k", "all", id)],
            noon,
            null,
          ),
        { concurrency: "unbounded" },
      )
      const found = yield* store.keys(number.id, "k", [...ids, "all"])
      assert.strictEqual(found.size, 21)
    }),
  )

  it.effect("keys without credentials are not kept", () =>
    Effect.gen(function* () {
      const store = (yield* Store).sessions
      const { number } = yield* aStage()
      yield* store.write(number.id, null, [key("a", "1", "one")], noon, null)
      assert.deepStrictEqual(yield* readValues(number.id, "a", ["1"]), {})
      assert.isUndefined(yield* readStored(number.id))
    }),
  )

  it.effect("a replaced session leaves nothing behind", () =>
    Effect.gen(function* () {
      const store = (yield* Store).sessions
      const { number } = yield* aStage()
      yield* store.write(number.id, "old", [key("a", "1", "old"), key("b", "1", "old")], noon, null)
      yield* store.replace(number.id, "new", [key("a", "2", "new")], noon, null)
      assert.strictEqual(yield* store.credentials(number.id), "new")
      assert.deepStrictEqual(yield* readValues(number.id, "a", ["1", "2"]), { "2": "new" })
      assert.deepStrictEqual(yield* readValues(number.id, "b", ["1"]), {})
    }),
  )

  it.effect("one of those that read the same credentials exchanges them", () =>
    Effect.gen(function* () {
      const store = (yield* Store).sessions
      const { number } = yield* aStage()
      const atOnce = (before: string | null, names: ReadonlyArray<string>) =>
        Effect.map(
          Effect.forEach(
            names,
            (name) => store.exchange(number.id, before, name, [key(name, "1", name)], noon),
            { concurrency: "unbounded" },
          ),
          (done) => names.filter((_, index) => done[index]),
        )
      const [first = "", ...others] = yield* atOnce(null, ["a", "b", "c"])
      assert.deepStrictEqual(others, [])
      assert.strictEqual(yield* store.credentials(number.id), first)
      yield* store.markLeaving(number.id, noon, null)
      const [second = "", ...late] = yield* atOnce(first, ["d", "e", "f"])
      assert.deepStrictEqual(late, [])
      assert.strictEqual(yield* store.credentials(number.id), second)
      assert.strictEqual((yield* readStored(number.id))?.leavingSince, null)
      const left: Array<string> = []
      for (const name of ["a", "b", "c", "d", "e", "f"]) {
        if ((yield* store.keys(number.id, name, ["1"])).size > 0) left.push(name)
      }
      assert.deepStrictEqual(left, [second])
      for (const before of [first, null]) {
        assert.isFalse(yield* store.exchange(number.id, before, "late", [], noon))
        assert.isFalse(yield* store.exchange(number.id, before, null, [], noon))
      }
      assert.isTrue(yield* store.exchange(number.id, second, null, [], noon))
      assert.isUndefined(yield* readStored(number.id))
    }),
  )

  it.effect("a removed number takes no other credentials, and keeps or loses its own", () =>
    Effect.gen(function* () {
      const { sessions: store, numbers } = yield* Store

      const { number, workspace } = yield* aStage()
      yield* store.write(number.id, "own", [key("a", "1", "one")], noon, null)
      yield* numbers.remove(workspace.id, number.id, noon)
      assert.isFalse(yield* store.exchange(number.id, "own", "other", [], noon))
      // Not refused as by a fence: a retry would not help.
      assert.isTrue(yield* store.replace(number.id, "other", [key("a", "2", "two")], noon, null))
      assert.isTrue(yield* store.write(number.id, "other", [key("a", "2", "two")], noon, null))
      assert.strictEqual(yield* store.credentials(number.id), "own")
      assert.deepStrictEqual(yield* readValues(number.id, "a", ["1", "2"]), { "1": "one" })
      assert.isTrue(yield* store.exchange(number.id, "own", null, [], noon))
      assert.isFalse(yield* store.exchange(number.id, null, "other", [], noon))
      assert.isNull(yield* store.credentials(number.id))
    }),
  )

  it.effect("one of concurrent numbers of a workspace gets an account's phone", () =>
    Effect.gen(function* () {
      const { sessions: store, numbers } = yield* Store

      const { number, workspace } = yield* aStage()
      const all = [number, yield* aNumber(workspace.id), yield* aNumber(workspace.id)]
      for (const { id } of all) yield* store.write(id, "login", [], noon, null)
      const get = (id: NumberId, before: string) =>
        store.exchange(id, before, `account of ${id}`, [], noon, { phone: "15550000077" })
      const got = yield* Effect.forEach(all, ({ id }) => get(id, "login"), {
        concurrency: "unbounded",
      })
      const refused = "phone_of_another_number"
      assert.deepStrictEqual(got.map(String).toSorted(), [refused, refused, "true"])
      for (const [index, { id, phone }] of all.entries()) {
        const isFirst = got[index] === true
        const credentials = yield* store.credentials(id)
        assert.strictEqual(credentials, isFirst ? `account of ${id}` : "login")
        const stored = (yield* numbers.find(id))?.phone
        assert.strictEqual(stored, isFirst ? "15550000077" : phone)
        // A later write refuses first.
        assert.isFalse(yield* get(id, "stale"))
      }
      const elsewhere = yield* aStage()
      yield* store.write(elsewhere.number.id, "login", [], noon, null)
      assert.isTrue(yield* get(elsewhere.number.id, "login"))
    }),
  )

  it.effect("an account that logs in ends the pauses of the one before, and no operator's", () =>
    Effect.gen(function* () {
      const { sessions: store, numbers } = yield* Store

      const { pause } = (yield* Store).queue
      const { number } = yield* aStage()
      const { id } = number
      const message = yield* aMessage(number)
      yield* numbers.setStatus(id, "disconnected", undefined, noon, null, "banned")
      yield* pause(id, { until: null, reason: "banned" }, noon)
      yield* pause(id, { until: noon + hour, reason: "paused" }, noon)
      const logIn = (before: string | null, now: number) =>
        store.exchange(id, before, `account at ${now}`, [], now, { phone: null })
      // A login in progress ends none.
      assert.isTrue(yield* store.exchange(id, null, "login", [], noon))
      assert.deepInclude(yield* readStored(id), { pauseReason: "banned", reason: "banned" })
      assert.isFalse(yield* logIn("another login", noon))
      assert.deepInclude(yield* readStored(id), { pauseReason: "banned", reason: "banned" })
      assert.isTrue(yield* logIn("login", noon + oneSecond))
      const known = yield* connectionFacts(number)
      assert.deepStrictEqual(known.pause, { until: noon + hour, reason: "paused" })
      assert.deepStrictEqual(known.changed, { at: noon, reason: "connection_lost" })
      assert.strictEqual(known.number.phone, number.phone)
      yield* numbers.setStatus(id, "connected", undefined, noon)
      // An endless pause behind which nothing would ever have left.
      yield* pause(id, { until: null, reason: "restricted" }, noon)
      assert.isTrue(yield* logIn(`account at ${noon + oneSecond}`, noon + hour))
      assert.deepStrictEqual((yield* connectionFacts(number)).changed?.reason ?? null, null)
      assert.strictEqual((yield* claimOne(number, { now: noon + hour })).message.id, message.id)
    }),
  )

  it.effect("a number that never connected is to be connected once its account has logged in", () =>
    Effect.gen(function* () {
      const store = (yield* Store).sessions
      const { workspace } = yield* aStage()
      const number = yield* aNumber(workspace.id, { status: "disconnected" })
      assert.isNull((yield* connectionFacts(number)).changed)
      const account = { phone: "15550000078" }
      assert.isTrue(yield* store.exchange(number.id, null, "account", [], noon, account))
      const { changed, number: now } = yield* connectionFacts(number)
      assert.deepStrictEqual(changed, { at: noon, reason: "connection_lost" })
      assert.strictEqual(now.phone, account.phone)
    }),
  )

  it.effect("a wiped number has nothing, and others are unchanged", () =>
    Effect.gen(function* () {
      const store = (yield* Store).sessions
      const { workspace, number } = yield* aStage()
      const other = yield* aNumber(workspace.id)
      for (const { id } of [number, other]) {
        yield* store.write(id, "credentials", [key("a", "1", "one")], noon, null)
      }
      yield* store.wipe(number.id, null)
      yield* store.wipe(number.id, null)
      assert.isNull(yield* store.credentials(number.id))
      assert.deepStrictEqual(yield* readValues(number.id, "a", ["1"]), {})
      assert.deepStrictEqual(yield* readValues(other.id, "a", ["1"]), { "1": "one" })
    }),
  )

  it.effect("trimming drops the longest unwritten keys of the type", () =>
    Effect.gen(function* () {
      const store = (yield* Store).sessions
      const { number } = yield* aStage()
      const at = (second: number) => noon + second * oneSecond
      for (const [second, id] of ["1", "2", "3", "4"].entries()) {
        yield* store.write(
          number.id,
          "credentials",
          [key("a", id, id), key("b", id, id)],
          at(second),
          null,
        )
      }
      yield* store.write(number.id, null, [key("a", "1", "again")], at(9), null)
      yield* store.trim(number.id, "a", 2, null)
      assert.deepStrictEqual(yield* readValues(number.id, "a", ["1", "2", "3", "4"]), {
        "1": "again",
        "4": "4",
      })
      yield* store.trim(number.id, "a", 2, null)
      yield* store.trim(number.id, "never written", 0, null)
      assert.deepStrictEqual(Object.keys(yield* readValues(number.id, "a", ["1", "4"])), ["1", "4"])
      assert.deepStrictEqual(
        Object.keys(yield* readValues(number.id, "b", ["1", "2", "3", "4"])).length,
        4,
      )
    }),
  )

  it.effect("a removed number is listed as removed until it is wiped, and takes nothing more", () =>
    Effect.gen(function* () {
      const { sessions: store, numbers } = yield* Store

      const workspace = yield* aWorkspace()
      const number = yield* aNumber(workspace.id, { status: "disconnected", platform: "telegram" })
      yield* store.write(number.id, "credentials", [], noon, null)
      const stored = {
        numberId: number.id,
        platform: "telegram",
        status: "disconnected",
        leavingSince: null,
        pauseReason: null,
        reason: null,
        proxy: null,
        hasConversations: false,
      } as const
      assert.deepStrictEqual(yield* readStored(number.id), { ...stored, removed: false })
      yield* turnOn(workspace.id)
      const conversing = { ...stored, removed: false, hasConversations: true }
      assert.deepStrictEqual(yield* readStored(number.id), conversing)
      yield* Store.use(({ chats }) => chats.deleteConversations(workspace.id, noon))
      yield* numbers.remove(workspace.id, number.id, noon)
      assert.deepStrictEqual(yield* readStored(number.id), { ...stored, removed: true })
      yield* store.write(number.id, "changed", [key("a", "1", "one")], noon, null)
      assert.strictEqual(yield* store.credentials(number.id), "credentials")
      assert.deepStrictEqual(yield* readValues(number.id, "a", ["1"]), {})
      yield* store.wipe(number.id, null)
      assert.isUndefined(yield* readStored(number.id))
    }),
  )

  it.effect("a number leaves from the first time on, until it is wiped or linked again", () =>
    Effect.gen(function* () {
      const { sessions: store, numbers } = yield* Store

      const { workspace, number } = yield* aStage()
      const leavingSince = Effect.map(readStored(number.id), (stored) => stored?.leavingSince)
      yield* store.markLeaving(number.id, noon, null)
      assert.isUndefined(yield* leavingSince)
      yield* store.write(number.id, "credentials", [key("a", "1", "one")], noon, null)
      assert.isNull(yield* leavingSince)
      yield* store.markLeaving(number.id, noon + oneSecond, null)
      yield* store.markLeaving(number.id, noon + 2 * oneSecond, null)
      yield* store.write(number.id, "changed", [], noon, null)
      assert.strictEqual(yield* leavingSince, noon + oneSecond)
      assert.strictEqual(yield* store.credentials(number.id), "changed")
      yield* store.replace(number.id, "new", [], noon, null)
      assert.isNull(yield* leavingSince)
      // A removed number takes nothing more, and still leaves.
      yield* numbers.remove(workspace.id, number.id, noon)
      yield* store.markLeaving(number.id, noon + 3 * oneSecond, null)
      assert.strictEqual(yield* leavingSince, noon + 3 * oneSecond)
    }),
  )

  it.effect("a number is listed with its current pause reason and proxy", () =>
    Effect.gen(function* () {
      const store = (yield* Store).sessions
      const { pause, resume } = (yield* Store).queue
      const { workspace, number } = yield* aStage()
      yield* store.write(number.id, "credentials", [], noon, null)
      const proxy = { host: "192.0.2.7", port: 1080, url: "sealed" }
      yield* Store.use(({ numbers }) => numbers.change(workspace.id, number.id, { proxy }, noon))
      yield* pause(number.id, { until: null, reason: "banned" }, noon)
      // Of two endless ones, the first stays.
      yield* pause(number.id, { until: null, reason: "paused" }, noon)
      assert.deepInclude(yield* readStored(number.id), { pauseReason: "banned", proxy: "sealed" })
      yield* resume(number.id, noon)
      assert.deepInclude(yield* readStored(number.id), { pauseReason: null })
    }),
  )

  it.effect.each([
    ["restricted", "connection_lost"],
    ["replaced", "connection_lost"],
    ["banned", "connection_lost"],
    ["client_outdated", "connection_lost"],
    ["logged_out", "logged_out"],
  ] as const)("a number that was given up (%s) is to be retried once resumed", ([why, then]) =>
    Effect.gen(function* () {
      const { sessions: store, numbers } = yield* Store

      const { resume } = (yield* Store).queue
      const { number } = yield* aStage()
      const { id } = number
      const reason = Effect.map(readStored(id), (stored) => stored?.reason)
      yield* store.write(id, "credentials", [], noon, null)
      yield* resume(id, noon)
      assert.isNull(yield* reason)
      yield* numbers.setStatus(id, "disconnected", undefined, noon, null, why)
      assert.strictEqual(yield* reason, why)
      yield* resume(id, noon)
      assert.strictEqual(yield* reason, then)
      // A connected one has nothing to retry.
      yield* numbers.setStatus(id, "connected", undefined, noon)
      yield* resume(id, noon)
      assert.isNull(yield* reason)
    }),
  )

  it.effect("a deleted workspace's numbers count as removed", () =>
    Effect.gen(function* () {
      const store = (yield* Store).sessions
      const { workspace, number } = yield* aStage()
      yield* store.write(number.id, "credentials", [], noon, null)
      yield* (yield* Store).workspaces.delete(workspace.id, noon)
      assert.isTrue((yield* readStored(number.id))?.removed)
    }),
  )
}
