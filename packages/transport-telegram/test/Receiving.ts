/** Accounts of workspaces with conversations, and processes that meet the store as tests say. */
import { NumberMoved, SessionVault, Store, StoreUnavailable } from "@messaging-service/core"
import type { Incoming, KeyChange, ReceivedMessage } from "@messaging-service/core"
import type { Group } from "@messaging-service/telegram-server"
import { aWorkspace, readOutbox } from "@messaging-service/testkit"
import { Context, Effect, Layer } from "effect"
import { aNumber, aPerson, layerAdapter, logIn, untilSo } from "./LiveWorld.ts"
import type { Account } from "./LiveWorld.ts"
import type { TelegramSettings } from "../src/TelegramSettings.ts"

/** What an event says. */
interface ToldEvent {
  readonly type: string
  readonly data: {
    readonly received_message?: { readonly text: string }
    readonly message?: { readonly id: number }
    readonly reaction?: { readonly emoji: string | null; readonly from: { readonly phone: string } }
    readonly gap?: { readonly from: string; readonly reason: string }
  }
}

export interface Receiver extends Account {
  /** The events of its workspace. */
  readonly events: Effect.Effect<ReadonlyArray<ToldEvent>, never, Store>
  readonly received: Effect.Effect<ReadonlyArray<ReceivedMessage>, never, Store>
}

/** An account of a workspace with conversations. */
export const aReceiver = ({ digits: known = null as string | null, groups = false } = {}) =>
  Effect.gen(function* () {
    const { chats } = yield* Store
    const { id: workspaceId } = yield* aWorkspace({ plan: null })
    yield* chats.putConversations(workspaceId, {
      groups,
      retentionDays: 30,
      media: "off",
      maxFileBytes: 1,
      maxStorageBytes: 0,
      holdNewChats: false,
      since: 0,
    })
    const digits = known ?? (yield* aPerson()).digits
    const id = yield* aNumber(digits, workspaceId)
    yield* logIn(id, digits)
    const scope = { workspaceId, mode: "live", restriction: null } as const
    const received = Store.use((store) => store.chats.receivedAfter(scope, id, 0, null, 5000)).pipe(
      Effect.orDie,
    )
    const events = Effect.map(Effect.orDie(readOutbox(0)), (all) =>
      all
        .filter((event) => event.workspaceId === workspaceId)
        .map(({ body }) => JSON.parse(body) as ToldEvent),
    )
    const receiver: Receiver = { id, digits, received, events }
    return receiver
  })

export const getTexts = ({ received }: Receiver) =>
  Effect.map(received, (messages) => messages.map(({ text }) => text))

export const awaitTexts = (receiver: Receiver, count: number) =>
  Effect.andThen(
    untilSo(Effect.map(getTexts(receiver), ({ length }) => length >= count)),
    getTexts(receiver),
  )

/** Events of these types, in order, with the texts of their messages. */
export const getEvents = ({ events }: Receiver, ...types: ReadonlyArray<string>) =>
  Effect.map(events, (all) =>
    all
      .filter(({ type }) => types.includes(type))
      .map(({ data, type }) => [type, data.received_message?.text ?? null] as const),
  )

export const getGaps = ({ events }: Receiver) =>
  Effect.map(events, (all) => all.flatMap(({ data }) => data.gap ?? []))

/** How a process meets the store: its writes are made, refused for now, refused for good, or never return. */
export interface Gate {
  state: "open" | "away" | "moved" | "dead"
  readonly commits: Array<{
    readonly keys: ReadonlyArray<KeyChange>
    readonly received: ReadonlyArray<Incoming>
  }>
  refusals: number
  /** How many received messages and changes took their turn. The pace of the vault is left out. */
  turns: number
}

export class Gates extends Context.Service<Gates, Gate>()("test/Gates") {}

export const aGate = (): Gate => ({ state: "open", commits: [], refusals: 0, turns: 0 })

/** Another process over the same stores, behind that gate. */
export const aProcess = (gate: Gate, settings: Partial<TelegramSettings> = {}) =>
  Layer.fresh(layerAdapter(settings)).pipe(
    Layer.provide(
      Layer.effect(
        SessionVault,
        Effect.map(SessionVault, (vault) =>
          SessionVault.of({
            ...vault,
            takeReceived: () => Effect.sync(() => void gate.turns++),
            write: (numberId, credentials, keys, received = []) =>
              Effect.suspend(() => {
                const refusal = {
                  away: new StoreUnavailable({ operation: "write", cause: "away" }),
                  moved: new NumberMoved({ numberId }),
                }
                if (gate.state !== "open") gate.refusals++
                if (gate.state === "dead") return Effect.never
                return gate.state === "open"
                  ? Effect.tap(vault.write(numberId, credentials, keys, received), () =>
                      Effect.sync(() => void gate.commits.push({ keys, received })),
                    )
                  : Effect.fail(refusal[gate.state])
              }),
          }),
        ),
      ),
    ),
    Layer.provideMerge(Layer.succeed(Gates, gate)),
  )

/** Where a state is stored: that of the account's box, or of a channel. */
const toKey = (channel: Group | null) =>
  channel === null
    ? ({ type: "state", id: "updates_pts" } as const)
    : ({ type: "channel", id: `updates_channel:${channel.id}` } as const)

export const statePts = ({ id }: Receiver, channel: Group | null = null) => {
  const key = toKey(channel)
  return SessionVault.use((vault) => vault.keys(id, key.type, [key.id])).pipe(
    Effect.map((keys) => Buffer.from(keys.get(key.id) ?? "AAAAAA==", "base64").readInt32LE(0)),
    Effect.orDie,
  )
}

/** A process that died before it stored how far it had read. */
export const putPts = ({ id }: Receiver, pts: number, channel: Group | null = null) =>
  SessionVault.use((vault) => {
    const bytes = Buffer.alloc(4)
    bytes.writeInt32LE(pts)
    return vault.write(id, null, [{ ...toKey(channel), value: bytes.toString("base64") }])
  }).pipe(Effect.orDie)
