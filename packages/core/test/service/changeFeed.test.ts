/** News of a workspace: what viewers learn of, and what their looks cost. */
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Scope, Stream } from "effect"
import { Numbers, Reminders, WorkspaceChangeFeed, sharedLimits } from "../../src/index.ts"
import type { ChangeFeed, ChangeFeedTopic, NumberId, WorkspaceId } from "../../src/index.ts"
import { connect, scan } from "./Linking.ts"
import { cancel, send } from "./Operations.ts"
import {
  ahead,
  aKey,
  aSender,
  aWorkspace,
  hour,
  inAService,
  noon,
  pass,
  second,
} from "./Service.ts"
import { storeWithin } from "./Watched.ts"

/** A viewer and all that it heard. */
const aViewer = (
  workspaceId: WorkspaceId,
  {
    after = null,
    holder = "one",
  }: { readonly after?: number | null; readonly holder?: string } = {},
) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const reported: Array<ChangeFeed> = []
    const stream = yield* WorkspaceChangeFeed.use((changeFeed) =>
      changeFeed.open({ workspaceId, holder, after }),
    ).pipe(Scope.provide(scope))
    const reader = yield* Effect.forkScoped(
      Stream.runForEach(stream, (one) => Effect.sync(() => void reported.push(one))),
    )
    const toIds = (topic: ChangeFeedTopic) =>
      reported.flatMap(({ changes }) => changes.flatMap(([of, ids]) => (of === topic ? [ids] : [])))
    return {
      reported,
      toIds,
      /** What it heard since the last call. */
      since: () => reported.splice(0).flatMap(({ changes }) => changes),
      close: Effect.andThen(Fiber.interrupt(reader), Scope.close(scope, Exit.void)),
    }
  })

const looking = ["webhooks.readEvents", "news.marks"]

/** A store that counts looks. */
const counting = () => {
  const checks: Array<string> = []
  const store = storeWithin((operation, effect, [, limit]) => {
    // The tests themselves read more at once.
    if (looking.includes(operation) && limit !== 1000) checks.push(operation)
    return effect
  })
  return { checks, store }
}

describe("news of a workspace", () => {
  it.effect("begin with the time and tell of accepted, ended and scheduled messages", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const viewer = yield* aViewer(key.workspaceId)
        yield* pass(second)
        assert.deepStrictEqual(
          viewer.reported.map(({ changes, now }) => ({ changes, now })),
          [{ changes: [], now: noon }],
        )
        viewer.since()
        const later = yield* send(key, { sendAt: yield* ahead(hour) })
        yield* pass(second)
        assert.deepStrictEqual(viewer.since(), [["messages", [later.id]]])
        yield* cancel(key, later)
        yield* pass(second)
        assert.deepStrictEqual(viewer.since(), [["messages", [later.id]]])
        yield* pass(5 * second)
        assert.deepStrictEqual(viewer.since(), [])
      }),
    ),
  )

  it.effect("tell of numbers, their links and deletions, and of reminders", () =>
    inAService(
      Effect.gen(function* () {
        const workspaceId = yield* aWorkspace()
        const key = yield* aKey(workspaceId)
        const viewer = yield* aViewer(workspaceId)
        const number = yield* connect(key)
        yield* pass(2 * second)
        assert.deepInclude(viewer.since(), ["numbers", [number.id]])
        yield* scan(number)
        yield* pass(2 * second)
        assert.deepStrictEqual(viewer.since(), [["numbers", [number.id]]])
        const id = number.id as NumberId
        yield* Numbers.use((numbers) => numbers.update("owner", workspaceId, id, { label: "Shop" }))
        yield* pass(second)
        assert.deepStrictEqual(viewer.since(), [["numbers", [number.id]]])
        const { answer: reminder } = yield* Reminders.use((reminders) =>
          reminders.create(
            key,
            {
              name: "Stand-up",
              to: { phone: "+15550001234" },
              text: "Now",
              schedule: { cron: "0 9 * * *", timezone: "UTC" },
            },
            null,
          ),
        )
        yield* pass(second)
        assert.deepStrictEqual(viewer.since(), [["reminders", [reminder.id]]])
        yield* Numbers.use((numbers) => numbers.remove("owner", workspaceId, id))
        yield* pass(second)
        assert.deepInclude(viewer.since(), ["numbers", [number.id]])
      }),
    ),
  )

  it.effect("tell a viewer that comes back what it missed of the last hour", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const viewer = yield* aViewer(key.workspaceId)
        const first = yield* send(key)
        yield* pass(2 * second)
        const position = viewer.reported.at(-1)?.position ?? 0
        yield* viewer.close
        const ended = yield* send(key)
        yield* pass(2 * second)
        const later = yield* send(key, { sendAt: yield* ahead(hour) })
        const back = yield* aViewer(key.workspaceId, { after: position })
        yield* pass(second)
        const ids = new Set(back.toIds("messages").flat())
        assert.isTrue(ids.has(ended.id) && ids.has(later.id))
        // Whatever else may have changed is to be read again.
        for (const topic of ["numbers", "webhooks", "reminders", "number_checks"] as const) {
          assert.deepStrictEqual(back.toIds(topic), [[]])
        }
        yield* pass(2 * hour)
        const late = yield* aViewer(key.workspaceId, { after: position, holder: "late" })
        yield* pass(second)
        assert.notInclude(late.toIds("messages").flat(), first.id)
      }),
    ),
  )

  it.effect("of other workspaces are not told", () =>
    inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const viewer = yield* aViewer(yield* aWorkspace())
        yield* send(key)
        yield* pass(3 * second)
        assert.deepStrictEqual(viewer.since(), [])
      }),
    ),
  )

  it.effect("cost one look a second for all viewers, and none without viewers", () => {
    const { checks, store } = counting()
    return inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        yield* pass(5 * second)
        assert.deepStrictEqual(checks, [])
        const workspaces: ReadonlyArray<WorkspaceId> = [key.workspaceId, yield* aWorkspace()]
        const viewers = yield* Effect.forEach(Array.from({ length: 40 }), (_, index) =>
          aViewer(workspaces[index % 2] ?? key.workspaceId, { holder: String(index) }),
        )
        checks.splice(0)
        yield* pass(10 * second)
        for (const operation of looking) {
          assert.lengthOf(
            checks.filter((one) => one === operation),
            10,
            operation,
          )
        }
        yield* Effect.forEach(viewers, ({ close }) => close)
        checks.splice(0)
        yield* pass(10 * second)
        assert.deepStrictEqual(checks, [])
      }),
      { store },
    )
  })

  it.effect("wait within a bound for a viewer that reads nothing", () =>
    inAService(
      Effect.gen(function* () {
        const { workspaceId } = (yield* aSender()).key
        const key = yield* aKey(workspaceId, { mode: "test" })
        const stream = yield* WorkspaceChangeFeed.use((changeFeed) =>
          changeFeed.open({ workspaceId, holder: "slow", after: null }),
        )
        const sent: Array<number> = []
        for (let round = 0; round < 30; round++) {
          const messageJsons = yield* Effect.forEach(Array.from({ length: 40 }), () => send(key))
          sent.push(...messageJsons.map(({ id }) => id))
          yield* pass(second)
        }
        const [changes] = yield* Stream.runCollect(Stream.take(stream, 1))
        assert.deepStrictEqual(changes?.changes, [["messages", []]])
        assert.isAbove(sent.length, 1000)
      }),
    ),
  )

  it.effect("have room for four streams of a session and 256 in all", () =>
    inAService(
      Effect.gen(function* () {
        const workspaceId = yield* aWorkspace()
        const { share, whole } = sharedLimits.eventStreams
        const open = (holder: string) => Effect.exit(aViewer(workspaceId, { holder }))
        const code = (exit: Effect.Success<ReturnType<typeof open>>) =>
          Exit.match(exit, { onSuccess: () => "open", onFailure: (cause) => Cause.pretty(cause) })
        const viewers = yield* Effect.forEach(Array.from({ length: whole }), (_, index) =>
          aViewer(workspaceId, { holder: String(Math.floor(index / share.most)) }),
        )
        assert.include(code(yield* open("0")), "at most 4 streams")
        assert.include(code(yield* open("another")), "Refusal")
        yield* viewers[0]?.close ?? Effect.void
        assert.strictEqual(code(yield* open("another")), "open")
      }),
    ),
  )
})
