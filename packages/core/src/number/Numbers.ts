/** The numbers of a workspace as the operator keeps them (contract: Workspace numbers). */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { makeConnectionCallbacks } from "../callback/ConnectionCallbacks.ts"
import { refuse } from "../error/Refusal.ts"
import type { Failure } from "../error/Refusal.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { NumberId, WorkspaceId } from "../id/Ids.ts"
import { makeStranded } from "../message/Stranded.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { parsePhone, phoneDescribed, phoneDigits } from "../recipient/Phone.ts"
import { described } from "../request/Described.ts"
import { inputDecoder, parsed, textBetween } from "../request/Input.ts"
import type { Role } from "../workspace/Workspace.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { NumberStore, platforms } from "./SendingNumber.ts"
import type { SendingNumber } from "./SendingNumber.ts"

const LabelInput = textBetween(0, 100)

export const NumberBody = Schema.Struct({
  platform: Schema.Literals(platforms),
  phone: parsed("invalid_phone", parsePhone, phoneDescribed),
  label: described(Schema.optionalKey(LabelInput), "A name for people.", { default: "" }),
  status: described(
    Schema.optionalKey(Schema.Literals(["connected", "disconnected"])),
    "With live transports a number can only be made `disconnected`.",
    { default: "connected" },
  ),
}).annotate({ identifier: "CreateNumber" })

export const NumberPatch = Schema.Struct({ label: Schema.optionalKey(LabelInput) }).annotate({
  identifier: "ChangeNumber",
})

/** A number to add, and what to change of one: in the words of their bodies. */
export type CreateNumber = typeof NumberBody.Encoded
export type ChangeNumber = typeof NumberPatch.Encoded

const decodeBody = inputDecoder(NumberBody)
const decodePatch = inputDecoder(NumberPatch)

/**
 * Whether a number may be made as connected already: true for simulated phones, which need no
 * linking; with live transports only linking connects one.
 */
export const ConnectedFromTheStart = Context.Reference<boolean>("core/ConnectedFromTheStart", {
  defaultValue: () => true,
})

export class Numbers extends Context.Service<
  Numbers,
  {
    /** POST /workspaces/{id}/numbers. */
    create(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      command: CreateNumber,
    ): Effect.Effect<SendingNumber, Failure>
    /** GET /workspaces/{id}/numbers: oldest first. */
    list(
      role: Role,
      workspaceId: WorkspaceId | undefined,
    ): Effect.Effect<ReadonlyArray<SendingNumber>, Failure>
    /** PATCH /workspaces/{id}/numbers/{number_id}. Fails with `number_not_found`. */
    update(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: NumberId | undefined,
      command: ChangeNumber,
    ): Effect.Effect<SendingNumber, Failure>
    /** DELETE: its waiting messages are cancelled, each with its event, before the answer. */
    remove(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: NumberId | undefined,
    ): Effect.Effect<NumberId, Failure>
    /**
     * A connection came up or dropped, as the transport reports it. Waiting messages of a logged-out
     * number wait until it reconnects. Null when the number is gone.
     */
    connectionChanged(
      id: NumberId,
      status: "connected" | "disconnected",
      phone: string | null,
    ): Effect.Effect<SendingNumber | null, StoreUnavailable>
  }
>()("core/Numbers") {
  static readonly layer = Layer.effect(
    Numbers,
    Effect.gen(function* () {
      const store = yield* NumberStore
      const workspaces = yield* Workspaces
      const stranded = yield* makeStranded
      const wakeUp = yield* WakeUp
      const callbacks = yield* makeConnectionCallbacks
      const connectedFromTheStart = yield* ConnectedFromTheStart
      const notFound = refuse("number_not_found", { inPath: true })

      return Numbers.of({
        create: Effect.fn("Numbers.create")(function* (role, workspaceId, command) {
          const workspace = yield* workspaces.within(role, workspaceId, "numbers")
          const input = yield* Effect.fromResult(decodeBody(command))
          const status = input.status ?? "connected"
          if (status === "connected" && !connectedFromTheStart) {
            return yield* refuse("validation_failed", {
              field: "status",
              message: "A live number starts disconnected and is connected by linking it.",
            })
          }
          return yield* store.insert({
            workspaceId: workspace.id,
            mode: "live",
            phone: phoneDigits(input.phone),
            label: input.label ?? "",
            platform: input.platform,
            status,
            loginMethod: "qr",
            createdAt: yield* Clock.currentTimeMillis,
          })
        }),
        list: Effect.fn("Numbers.list")(function* (role, workspaceId) {
          return yield* store.list((yield* workspaces.within(role, workspaceId, "numbers")).id)
        }),
        update: Effect.fn("Numbers.update")(function* (role, workspaceId, id, command) {
          const workspace = yield* workspaces.within(role, workspaceId, "numbers")
          const found = id === undefined ? null : yield* store.get(workspace.id, id)
          if (found === null) return yield* notFound
          const { label } = yield* Effect.fromResult(decodePatch(command))
          if (label === undefined) return found
          return (yield* store.relabel(workspace.id, found.id, label)) ?? (yield* notFound)
        }),
        remove: Effect.fn("Numbers.remove")(function* (role, workspaceId, id) {
          const workspace = yield* workspaces.within(role, workspaceId, "numbers")
          const now = yield* Clock.currentTimeMillis
          if (id === undefined) return yield* notFound
          const removed = yield* stranded.removing(store.remove(workspace.id, id, now))
          return removed ? id : yield* notFound
        }),
        connectionChanged: Effect.fn("Numbers.connectionChanged")(function* (id, status, phone) {
          const now = yield* Clock.currentTimeMillis
          const callback = yield* callbacks.of(id, status, phone)
          const noted = store.setStatus(id, status, phone ?? undefined, now, callback)
          if (status === "disconnected") return yield* noted
          // Also when the store did not say whether it noted it: the loops look.
          return yield* Effect.ensuring(
            noted,
            Effect.andThen(wakeUp.wake("lanes"), wakeUp.wake("number_checks")),
          )
        }),
      })
    }),
  )
}
