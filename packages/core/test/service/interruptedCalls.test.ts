/** Calls with a client that hangs up at any moment, on a store that answers a moment after its commit. */
import { assert, describe, it } from "@effect/vitest"
import { layer as layerStore } from "@messaging-service/store-memory"
import { interruptEverywhere, storeChanged } from "@messaging-service/testkit"
import { Effect, Layer } from "effect"
import type { Scope } from "effect"
import {
  Connections,
  MessageOperations,
  NumberOperations,
  Numbers,
  Reminders,
  Restoration,
  WakeUp,
  Workspaces,
} from "../../src/index.ts"
import type { Caller, MessageJson, NumberId, Reminder, Work, WorkspaceId } from "../../src/index.ts"
import { cancel, reconnect, send } from "./Operations.ts"
import { answer, patch, remind, scheduled } from "./Reminding.ts"
import { ahead, aSender, hour, inAService } from "./Service.ts"
import type { TestService } from "./Service.ts"

interface World {
  readonly key: Caller
  readonly number: NumberId
  readonly workspace: WorkspaceId
}

/** Runs a test with a sender, on a store that counts what it commits. */
const onSlowStore = (
  test: (
    world: World,
    commits: { count: number },
  ) => Effect.Effect<void, unknown, TestService | Scope.Scope>,
) => {
  const commits = { count: 0 }
  const later = <A, E>(commit: Effect.Effect<A, E>) =>
    Effect.tap(commit, () => {
      commits.count++
      return Effect.yieldNow
    })
  const changed = storeChanged(({ messages, numbers, queue, reminders, ...store }) => ({
    messages: {
      claimKey: (...args) => later(messages.claimKey(...args)),
      end: (...args) => later(messages.end(...args)),
    },
    numbers: {
      addLinking: (...args) => later(numbers.addLinking(...args)),
      change: (...args) => later(numbers.change(...args)),
    },
    queue: {
      pause: (...args) => later(queue.pause(...args)),
      resume: (...args) => later(queue.resume(...args)),
    },
    reminders: {
      insert: (...args) => later(reminders.insert(...args)),
      run: (...args) => later(reminders.run(...args)),
      update: (...args) => later(reminders.update(...args)),
    },
    sessions: { markLeaving: (...args) => later(store.sessions.markLeaving(...args)) },
    system: { releaseHeld: (...args) => later(store.system.releaseHeld(...args)) },
    workspaces: { update: (...args) => later(store.workspaces.update(...args)) },
  }))
  return inAService(
    Effect.flatMap(aSender(), (world) => test(world, commits)),
    { store: Layer.provideMerge(changed, layerStore), worker: false },
  )
}

type Running<A> = Effect.Effect<A, unknown, TestService | Scope.Scope>

/** A call, and what it needs each time. */
const called = <A>(
  work: Work,
  call: (world: World, input: A) => Running<unknown>,
  before: (world: World) => Running<A>,
) => ({
  work,
  prepare: (world: World) => Effect.map(before(world), (input) => call(world, input)),
})

const nothing = () => Effect.void

const aMessage = ({ key }: World) => send(key)

const calls = {
  "creates a reminder": called("reminders", ({ key }) => remind(key), nothing),
  "changes a reminder": called(
    "reminders",
    ({ key }, reminder: Reminder) => patch(key, reminder, { name: "Other" }),
    ({ key }) => scheduled(key, "0 9 * * *"),
  ),
  "runs a reminder": called(
    "lanes",
    ({ workspace }, { id }: Reminder) =>
      Reminders.use((reminders) => reminders.run("owner", workspace, id, null)),
    ({ key }) => scheduled(key, "0 9 * * *"),
  ),
  "connects a number": called(
    "linking",
    ({ key }) =>
      Connections.use((connections) => connections.connect(key, { loginMethod: "qr" }, null, null)),
    nothing,
  ),
  "changes a number's pacing": called(
    "lanes",
    ({ number, workspace }) =>
      Numbers.use((numbers) =>
        numbers.update("owner", workspace, number, { pacing: { perHour: 9 } }),
      ),
    nothing,
  ),
  "pauses a number": called(
    "lanes",
    ({ number, workspace }) =>
      NumberOperations.use((numbers) => numbers.pause("owner", workspace, number, {})),
    nothing,
  ),
  "resumes a number": called(
    "lanes",
    ({ number, workspace }) =>
      NumberOperations.use((numbers) => numbers.resume("owner", workspace, number)),
    nothing,
  ),
  "enables a workspace": called(
    "test_messages",
    ({ workspace }) =>
      Workspaces.use((workspaces) =>
        workspaces.update("owner", workspace, { accountDisabled: false }),
      ),
    nothing,
  ),
  "cancels a message": called(
    "lanes",
    ({ key }, message: MessageJson) => cancel(key, message),
    aMessage,
  ),
  "cancels many messages": called(
    "lanes",
    ({ workspace }, { id }: MessageJson) =>
      MessageOperations.use((messages) => messages.cancelMany("owner", workspace, { ids: [id] })),
    aMessage,
  ),
  "releases what is held": called(
    "lanes",
    ({ workspace }) => Restoration.use((all) => all.release("owner", workspace, { filter: {} })),
    ({ key }) =>
      Effect.gen(function* () {
        yield* send(key, { sendAt: yield* ahead(hour) })
        yield* Restoration.use((all) => all.restored("owner", { again: true }))
      }),
  ),
}

describe("a call that is interrupted anywhere", () => {
  for (const [name, { prepare, work }] of Object.entries(calls)) {
    it.effect(`and ${name} leaves nothing committed that no loop looks for`, () =>
      onSlowStore((world, commits) =>
        Effect.gen(function* () {
          const latch = yield* WakeUp.use((wakeUp) => wakeUp.latch(work))
          let call: Running<unknown> = Effect.void
          let all = 0
          yield* interruptEverywhere(
            Effect.suspend(() => call),
            (operation) =>
              Effect.gen(function* () {
                const isFound = commits.count === 0 || latch.isOpen()
                assert.isTrue(isFound, `interrupted before operation ${operation}`)
                all += commits.count
                call = yield* prepare(world)
                commits.count = 0
                yield* latch.close
              }),
          )
          assert.isAbove(all, 0)
        }),
      ),
    )
  }

  it.effect("frees its Idempotency-Key, or has an answer for the next", () =>
    onSlowStore(({ key }) =>
      Effect.gen(function* () {
        let keys = 0
        const create = Effect.suspend(() => answer(key, {}, `key ${keys}`))
        yield* interruptEverywhere(create, () =>
          Effect.gen(function* () {
            yield* create
            keys++
          }),
        )
        assert.isAbove(keys, 1)
      }),
    ),
  )

  it.effect("leaves no number connected whose session ends", () =>
    onSlowStore(({ number, workspace }, commits) =>
      Effect.gen(function* () {
        const logOut = NumberOperations.use((all) => all.logOut("owner", workspace, number))
        yield* interruptEverywhere(logOut, (operation) =>
          Effect.gen(function* () {
            const { status } = yield* Numbers.use((all) => all.get("owner", workspace, number))
            const isRight = commits.count === 0 || status === "disconnected"
            assert.isTrue(isRight, `interrupted before operation ${operation}`)
            yield* reconnect(number)
            commits.count = 0
          }),
        )
      }),
    ),
  )
})
