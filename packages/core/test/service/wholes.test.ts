/**
 * What all workspaces together hold of one worker (sharedResources: lanes, numberChecks, linkAttempts,
 * receiverCalls, callbackCalls) while each fills its share: above the whole, the next one waits for a place.
 */
import { assert, describe, it } from "@effect/vitest"
import { layer as layerTransport } from "@messaging-service/emulator"
import { Clock, Effect, Layer, Stream } from "effect"
import {
  Connections,
  Messages,
  NumberChecks,
  NumberLinking,
  PhoneDirectory,
  Webhooks,
  DueWork,
  Worker,
  callsPerTarget,
  endpointLimit,
  sharedLimits,
  sharedWork,
} from "../../src/index.ts"
import type {
  CallbackUrl,
  CreateWebhook,
  LinkingEvent,
  PhonesOutcome,
  PostAnswer,
  SendOutcome,
  StoreUnavailable,
} from "../../src/index.ts"
import { ok, receiving } from "./Receiving.ts"
import { aPhone, cancel, send, the } from "./Operations.ts"
import { aNumber, aSender, inAService, stopWorker, transportOf } from "./Service.ts"
import type { TestService, ServiceParts } from "./Service.ts"

/** Work that hangs until the test ends it with that answer. */
const hanging = <A>(answer: A) => {
  const held: Array<(ending: Effect.Effect<A>) => void> = []
  const seen = { begun: 0 }
  const hang = Effect.callback<A>((resume) => {
    seen.begun++
    held.push(resume)
  })
  const endOne = Effect.sync(() => held.shift()?.(Effect.succeed(answer)))
  return { seen, hang, endOne }
}

/** More turns than it takes until the next piece of work has begun. */
const calmTurns = 2000

/** Returns once no more begins. Calls that wait for a place are due all the time, so nothing else tells. */
const calm = (seen: { readonly begun: number }) =>
  Effect.gen(function* () {
    let known = -1
    for (let turns = 0; turns < calmTurns; turns = known === seen.begun ? turns + 1 : 0) {
      known = seen.begun
      yield* Effect.yieldNow
    }
  })

/** What waits for a place is not due: moving time on would wait for it otherwise. */
const nothingIsDue = Effect.gen(function* () {
  const now = yield* Clock.currentTimeMillis
  const { nextDue } = yield* DueWork.use((status) => status.workload(now, sharedWork))
  assert.isAbove(nextDue ?? Infinity, now)
})

type TestSender = Effect.Success<ReturnType<typeof aSender>>

/** Asks for so much work of one workspace. */
type Asking<E> = (sender: TestSender, count: number) => Effect.Effect<unknown, E, TestService>

/** As many workspaces as fill the whole, each with its share, and one more, of which one thing waits. */
const fillsTheWhole = <E>(
  { share, whole }: { readonly whole: number; readonly share: { readonly most: number } },
  { endOne, seen }: Pick<ReturnType<typeof hanging>, "endOne" | "seen">,
  ask: Asking<E>,
  parts: ServiceParts,
  whenFull: Effect.Effect<void, StoreUnavailable, TestService> = Effect.void,
) =>
  inAService(
    Effect.gen(function* () {
      for (let left = whole; left > 0; left -= share.most) {
        yield* ask(yield* aSender(), Math.min(left, share.most))
      }
      yield* ask(yield* aSender(), 1)
      const worker = yield* Worker
      yield* Effect.acquireRelease(Effect.forkDetach(worker.run), stopWorker)
      yield* calm(seen)
      assert.strictEqual(seen.begun, whole)
      yield* whenFull
      yield* endOne
      yield* calm(seen)
      assert.strictEqual(seen.begun, whole + 1)
    }),
    { ...parts, worker: false },
  )

const times = <A, E, R>(count: number, effect: (at: number) => Effect.Effect<A, E, R>) =>
  Effect.forEach(Array.from({ length: count }).keys(), effect, { discard: true })

describe("the workspaces together", () => {
  it.effect("are sent for from as many numbers as a worker may hold", () => {
    const sends = hanging<SendOutcome>({ _tag: "Accepted" })
    const transport = transportOf({
      dropsCopies: true,
      send: () => sends.hang,
      listen: () => Effect.never,
    })
    return fillsTheWhole(
      sharedLimits.lanes,
      sends,
      ({ key, workspace }, count) =>
        times(count, () =>
          Effect.flatMap(aNumber(workspace), (number) => send(key, { from: number })),
        ),
      { transport },
      nothingIsDue,
    )
  })

  it.effect("have as many number checks asked for as a worker may hold", () => {
    const calls = hanging<PhonesOutcome>({ _tag: "Checked", registered: new Set() })
    const directory = Layer.succeed(PhoneDirectory, { checkPhones: () => calls.hang })
    return fillsTheWhole(
      sharedLimits.numberChecks,
      calls,
      ({ key }, count) =>
        times(count, () =>
          NumberChecks.use((checks) => checks.create(key, { phones: [aPhone()] }, null)),
        ),
      { transport: Layer.merge(layerTransport, directory) },
      nothingIsDue,
    )
  })

  it.effect("have as many attempts at linking run as a worker may", () => {
    const links = hanging<LinkingEvent>({ _tag: "Failed", reason: "a test" })
    const linking = Layer.succeed(NumberLinking, { link: () => Stream.fromEffect(links.hang) })
    return fillsTheWhole(
      sharedLimits.linkAttempts,
      links,
      ({ key }, count) =>
        times(count, () => Connections.use((connections) => connections.connect(key, {}, null))),
      { linking },
      nothingIsDue,
    )
  })

  const sendOneReporting = (key: TestSender["key"], at: number) =>
    Messages.use((messages) =>
      messages.send(key, { to: { phone: aPhone() }, text: "Hello" }, null, {
        callbackUrl: `https://hangs${at}.example.com/` as CallbackUrl,
        attachment: null,
        keepRefused: false,
      }),
    )
  const sendReporting = ({ key }: TestSender, count: number) =>
    times(count, (at) => sendOneReporting(key, at))
  const cancelReporting = ({ key }: TestSender, count: number) =>
    times(count, (at) =>
      Effect.flatMap(sendOneReporting(key, at), ({ messages }) => cancel(key, the(messages))),
    )

  // Thousands of calls: more than a busy machine does in the usual time of a test.
  const patience = 60_000

  it.effect(
    "have as many receivers called as a worker may",
    () => {
      const calls = hanging<PostAnswer>(ok)
      const { egress } = receiving(() => calls.hang)
      const webhooksOfOne = endpointLimit * callsPerTarget
      // Of each workspace as many callbacks as webhooks: of those alone there may not be so many.
      const share = { most: 2 * webhooksOfOne }
      return fillsTheWhole(
        { ...sharedLimits.receiverCalls, share },
        calls,
        (sender, count) =>
          Effect.gen(function* () {
            const endpoints = count < webhooksOfOne ? 1 : endpointLimit
            // They hear nothing of messages that are cancelled.
            const command: CreateWebhook = {
              url: "https://example.com/",
              events: ["message.sent"],
            }
            yield* times(endpoints, () =>
              Webhooks.use((webhooks) => webhooks.create(sender.key, command, null)),
            )
            yield* times(Math.min(count, callsPerTarget), () => send(sender.key))
            if (count > webhooksOfOne) yield* cancelReporting(sender, count - webhooksOfOne)
          }),
        { egress },
      )
    },
    patience,
  )

  it.effect(
    "have as many callbacks made as a worker may",
    () => {
      const calls = hanging<PostAnswer>(ok)
      const { egress } = receiving(() => calls.hang)
      return fillsTheWhole(
        sharedLimits.callbackCalls,
        calls,
        sendReporting,
        { egress },
        nothingIsDue,
      )
    },
    patience,
  )
})
