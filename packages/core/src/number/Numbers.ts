/** The numbers of a workspace as the operator keeps them (contract: Workspace numbers). */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import type { DeletedJson } from "../answer/Json.ts"
import { ConnectionCallbacks } from "../callback/ConnectionCallbacks.ts"
import { refuse } from "../error/Refusal.ts"
import type { Refusal } from "../error/Refusal.ts"
import type { StoreUnavailable } from "../error/StoreUnavailable.ts"
import type { NumberId, WorkspaceId } from "../id/Ids.ts"
import { Stranded } from "../message/Stranded.ts"
import { WakeUp } from "../queue/WakeUp.ts"
import { parsePhone, phoneDescribed, phoneDigits } from "../recipient/Phone.ts"
import { described } from "../request/Described.ts"
import { inputDecoder, parsed, textBetween } from "../request/Input.ts"
import { requireRole } from "../workspace/Role.ts"
import type { Role } from "../workspace/Role.ts"
import { Workspaces } from "../workspace/Workspaces.ts"
import { numberJson } from "./Linking.ts"
import type { NumberJson } from "./Linking.ts"
import { NumberStore } from "./NumberStore.ts"
import type { SendingNumber } from "./SendingNumber.ts"

const LabelInput = textBetween(0, 100)

export const NumberBody = Schema.Struct({
  platform: Schema.Literals(["whatsapp", "telegram"]),
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

const decodeBody = inputDecoder(NumberBody, Object.keys(NumberBody.fields))
const decodePatch = inputDecoder(NumberPatch, Object.keys(NumberPatch.fields))

type Failure = Refusal | StoreUnavailable

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
      body: unknown,
    ): Effect.Effect<NumberJson, Failure>
    /** GET /workspaces/{id}/numbers: oldest first. */
    list(
      role: Role,
      workspaceId: WorkspaceId | undefined,
    ): Effect.Effect<{ readonly data: ReadonlyArray<NumberJson> }, Failure>
    /** PATCH /workspaces/{id}/numbers/{number_id}. Fails with `number_not_found`. */
    update(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: NumberId | undefined,
      body: unknown,
    ): Effect.Effect<NumberJson, Failure>
    /** DELETE: its waiting messages are cancelled, each with its event, before the answer. */
    remove(
      role: Role,
      workspaceId: WorkspaceId | undefined,
      id: NumberId | undefined,
    ): Effect.Effect<DeletedJson, Failure>
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
      const stranded = yield* Stranded
      const wakeUp = yield* WakeUp
      const callbacks = yield* ConnectionCallbacks
      const connectedFromTheStart = yield* ConnectedFromTheStart
      const notFound = refuse("number_not_found", { inPath: true })

      return Numbers.of({
        create: Effect.fn("Numbers.create")(function* (role, workspaceId, body) {
          const workspace = yield* workspaces.require(workspaceId)
          yield* requireRole(role, "numbers")
          const input = yield* Effect.fromResult(decodeBody(body))
          const status = input.status ?? "connected"
          if (status === "connected" && !connectedFromTheStart) {
            return yield* refuse("validation_failed", {
              field: "status",
              message: "A live number starts disconnected and is connected by linking it.",
            })
          }
          return numberJson(
            yield* store.insert({
              workspaceId: workspace.id,
              mode: "live",
              phone: phoneDigits(input.phone),
              label: input.label ?? "",
              platform: input.platform,
              status,
              loginMethod: "qr",
              createdAt: yield* Clock.currentTimeMillis,
            }),
          )
        }),
        list: Effect.fn("Numbers.list")(function* (role, workspaceId) {
          const workspace = yield* workspaces.require(workspaceId)
          yield* requireRole(role, "numbers")
          return { data: (yield* store.list(workspace.id)).map((number) => numberJson(number)) }
        }),
        update: Effect.fn("Numbers.update")(function* (role, workspaceId, id, body) {
          const workspace = yield* workspaces.require(workspaceId)
          yield* requireRole(role, "numbers")
          const found = id === undefined ? null : yield* store.get(workspace.id, id)
          if (found === null) return yield* notFound
          const { label } = yield* Effect.fromResult(decodePatch(body))
          if (label === undefined) return numberJson(found)
          return numberJson(
            (yield* store.relabel(workspace.id, found.id, label)) ?? (yield* notFound),
          )
        }),
        remove: Effect.fn("Numbers.remove")(function* (role, workspaceId, id) {
          const workspace = yield* workspaces.require(workspaceId)
          yield* requireRole(role, "numbers")
          const now = yield* Clock.currentTimeMillis
          if (id === undefined) return yield* notFound
          if (!(yield* stranded.removing(store.remove(workspace.id, id, now)))) {
            return yield* notFound
          }
          return { id, deleted: true as const }
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
