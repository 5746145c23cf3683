/**
 * The totals of all workspaces in one worker (sharedResources: lanes, numberChecks, linkAttempts,
 * receiverCalls, callbackCalls), each workspace at its share: above the total, the next one waits
 * for a permit.
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
  Worker,
  callsPerTarget,
  endpointLimit,
  sharedLimits,
  sharedWork,
  Store,
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
import { aNumber, aSender, inAService, stopWorker, layerTransports } from "./Service.ts"
import type { TestService, ServiceParts } from "./Service.ts"

/** Work that hangs until the test ends it with that answer. */
const hanging = <A>(answer: A) => {
  const pending: Array<(ending: Effect.Effect<A>) => void> = []
  const seen = { started: 0 }
  const hang = Effect.callback<A>((resume) => {
    seen.started++
    pending.push(resume)
  })
  const endOne = Effect.sync(() => pending.shift()?.(Effect.succeed(answer)))
  return { seen, hang, endOne }
}

/** More turns than the next piece of work needs to begin. */
const idleTicks = 2000

/** Returns once no more begins. Calls that wait for a permit are always due, so nothing else signals it. */
const settle = (seen: { readonly started: number }) =>
  Effect.gen(function* () {
    let known = -1
    for (
      let iterations = 0;
      iterations < idleTicks;
      iterations = known === seen.started ? iterations + 1 : 0
    ) {
      known = seen.started
      yield* Effect.yieldNow
    }
  })

/** What waits for a permit is not due: otherwise moving time on would wait for it. */
const nothingIsDue = Effect.gen(function* () {
  const now = yield* Clock.currentTimeMillis
  const { nextDue } = yield* Store.use(({ queue: status }) => status.workload(now, sharedWork))
  assert.isAbove(nextDue ?? Infinity, now)
})

type TestSender = Effect.Success<ReturnType<typeof aSender>>

/** Requests that much work for one workspace. */
type Asking<E> = (sender: TestSender, count: number) => Effect.Effect<unknown, E, TestService>

/** Enough workspaces at their share to reach the total, and one more with a single piece of work. */
const fillsTheWhole = <E>(
  { share, whole }: { readonly whole: number; readonly share: { readonly most: number } },
  { endOne, seen }: Pick<ReturnType<typeof hanging>, "endOne" | "seen">,
  request: Asking<E>,
  parts: ServiceParts,
  whenFull: Effect.Effect<void, StoreUnavailable, TestService> = Effect.void,
) =>
  inAService(
    Effect.gen(function* () {
      for (let left = whole; left > 0; left -= share.most) {
        yield* request(yield* aSender(), Math.min(left, share.most))
      }
      yield* request(yield* aSender(), 1)
      const worker = yield* Worker
      yield* Effect.acquireRelease(Effect.forkDetach(worker.run), stopWorker)
      yield* settle(seen)
      assert.strictEqual(seen.started, whole)
      yield* whenFull
      yield* endOne
      yield* settle(seen)
      assert.strictEqual(seen.started, whole + 1)
    }),
    { ...parts, worker: false },
  )

const times = <A, E, R>(count: number, effect: (at: number) => Effect.Effect<A, E, R>) =>
  Effect.forEach(Array.from({ length: count }).keys(), effect, { discard: true })

describe("the workspaces together", () => {
  it.effect("send from at most as many numbers as a worker may hold", () => {
    const sends = hanging<SendOutcome>({ _tag: "Accepted" })
    const transport = layerTransports({
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

  it.effect("run at most as many number checks as a worker may hold", () => {
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

  it.effect("run at most as many link attempts as a worker may hold", () => {
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

  // Thousands of calls need more than a test's usual time on a busy machine.
  const patience = 60_000

  it.effect(
    "have at most as many receivers called as a worker may",
    () => {
      const calls = hanging<PostAnswer>(ok)
      const { egress } = receiving(() => calls.hang)
      const webhooksOfOne = endpointLimit * callsPerTarget
      // Half callbacks, half webhooks: callbacks alone are bounded lower.
      const share = { most: 2 * webhooksOfOne }
      return fillsTheWhole(
        { ...sharedLimits.receiverCalls, share },
        calls,
        (sender, count) =>
          Effect.gen(function* () {
            const endpoints = count < webhooksOfOne ? 1 : endpointLimit
            // They hear nothing of cancelled messages.
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
    "make at most as many callbacks as a worker may",
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
