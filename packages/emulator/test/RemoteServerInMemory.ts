/**
 * The remote server and the number store in memory, with only the transport's needs, for one test layer each.
 */
import { StoreUnavailable, parsePhone } from "@messaging-service/core"
import type {
  NumberId,
  NumberStatus,
  Phone,
  PhoneBehaviour,
  ReceivedCopy,
  WorkspaceId,
} from "@messaging-service/core"
import { RemoteServer, storeWith } from "@messaging-service/testkit"
import type { Taking } from "@messaging-service/testkit"
import { Context, Effect, Layer } from "effect"
import { layerTransport as transportLayer, ParkedSends, defaultBehaviour } from "../src/index.ts"

export const phone = (text: string): Phone => {
  const parsed = parsePhone(text)
  if (parsed === undefined) throw new Error(`not a phone: ${text}`)
  return parsed
}

/** What a test may read and change. */
export interface RemoteServerState {
  readonly statuses: Map<NumberId, NumberStatus>
  readonly behaviours: Map<NumberId, PhoneBehaviour>
  readonly copies: Array<ReceivedCopy>
  registered: ReadonlyArray<Phone> | null
  /** Operations that do not answer; `receive` still keeps the copy. */
  readonly unavailable: Set<"find" | "behaviour" | "registered" | "receive">
}

export const RemoteServerState = Context.Service<"test/RemoteServerState", RemoteServerState>(
  "test/RemoteServerState",
)

const stateLayer = Layer.sync(RemoteServerState, (): RemoteServerState => ({
  statuses: new Map(),
  behaviours: new Map(),
  copies: [],
  registered: null,
  unavailable: new Set(),
}))

const answer = <A>(state: RemoteServerState, operation: string, value: () => A) =>
  Effect.suspend(() => {
    const result = value()
    return Array.from<string>(state.unavailable).includes(operation)
      ? Effect.fail(new StoreUnavailable({ operation, cause: "test" }))
      : Effect.succeed(result)
  })

const storeLayer = Layer.unwrap(
  Effect.map(RemoteServerState, (state) =>
    storeWith({
      numbers: {
        find: (id) =>
          answer(state, "find", () => {
            const status = state.statuses.get(id)
            return status === undefined
              ? null
              : {
                  id,
                  workspaceId: 1 as WorkspaceId,
                  phone: "15550001111",
                  label: "",
                  platform: "whatsapp",
                  status,
                  loginMethod: "qr",
                  mode: "live",
                  createdAt: 0,
                }
          }),
      },
      phones: {
        behaviour: (id) => answer(state, "behaviour", () => state.behaviours.get(id) ?? null),
        registered: answer(state, "registered", () => state.registered),
        receive: (copy, then) =>
          answer(state, "receive", () => {
            const known = state.copies.some(
              ({ numberId, transportId }) =>
                numberId === copy.numberId && transportId === copy.transportId,
            )
            if (!known) state.copies.push(copy)
            if (then !== null) state.behaviours.set(copy.numberId, then)
            return !known
          }),
      },
    }),
  ),
)

const sends: Readonly<Record<Taking, PhoneBehaviour["send"]>> = {
  acknowledge: "succeed",
  refuse: "fail",
  break_before_ack: "drop",
  stay_silent: "hang",
}

const remoteServerLayer = Layer.effect(
  RemoteServer,
  Effect.gen(function* () {
    const { statuses, behaviours, copies } = yield* RemoteServerState
    const { parked } = yield* ParkedSends
    let numbers = 0
    return RemoteServer.of({
      aNumber: Effect.sync(() => {
        const id = ++numbers as NumberId
        statuses.set(id, "connected")
        return id
      }),
      recipients: [
        {
          target: { kind: "phone", phone: phone("+4915112345678") },
          displayedAs: "+4915112345678",
        },
        { target: { kind: "group", group: "Team" }, displayedAs: "Team" },
        { target: { kind: "username", username: "alice_smith" }, displayedAs: "@alice_smith" },
        { target: { kind: "user_id", userId: 42 }, displayedAs: "tg:42" },
      ],
      strangers: [
        {
          target: { kind: "phone", phone: phone("+4915112340000") },
          code: "recipient_not_found",
        },
        { target: { kind: "group", group: "team" }, code: "group_not_found" },
      ],
      namesPictures: true,
      take: (id, claiming) =>
        Effect.sync(() => behaviours.set(id, { ...defaultBehaviour, send: sends[claiming] })),
      logOut: (id) => Effect.sync(() => statuses.set(id, "disconnected")),
      logIn: (id) => Effect.sync(() => statuses.set(id, "connected")),
      seen: (id) =>
        Effect.sync(() =>
          copies
            .filter(({ numberId }) => numberId === id)
            .map(({ transportId, to, text, media }) => ({ transportId, to, text, media })),
        ),
      waiting: (id) => Effect.map(parked, (numberIds) => numberIds.has(id)),
    })
  }),
)

export const layerRemoteServerInMemory = remoteServerLayer.pipe(
  Layer.provideMerge(transportLayer),
  Layer.provide(storeLayer),
  Layer.provideMerge(stateLayer),
)
