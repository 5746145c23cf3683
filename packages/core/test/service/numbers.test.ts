import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  ConnectedFromTheStart,
  Contacts,
  EnsuredWorkspaces,
  Numbers,
  roles,
  Store,
  Workspaces,
} from "../../src/index.ts"
import type { Failure, NumberId } from "../../src/index.ts"
import { unpaced } from "../../src/model/Pacing.ts"
import { refusal } from "./Operations.ts"
import { aNumber, aPlan, aWorkspace, inAService, noon } from "./Service.ts"

const unknown = 999_999

describe("numbers", () => {
  it.effect("are created connected by default, listed oldest first, relabelled, removed", () =>
    inAService(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const { create, list, remove, update } = yield* Numbers
        const number = yield* create("owner", workspace, {
          platform: "whatsapp",
          phone: "+44 20-7946 0958",
        })
        const expected = {
          id: number.id,
          workspaceId: workspace,
          mode: "live",
          phone: "442079460958",
          label: "",
          platform: "whatsapp",
          status: "connected",
          loginMethod: "qr",
          createdAt: noon,
        }
        assert.deepStrictEqual<unknown>(number, expected)
        const other = yield* create("owner", workspace, {
          platform: "telegram",
          phone: "+442079460959",
          label: "Sales",
          status: "disconnected",
        })
        assert.deepStrictEqual(yield* list("owner", workspace), [number, other])
        const relabelled = yield* update("owner", workspace, number.id, { label: "Support" })
        const settings = { pacing: unpaced, proxy: null }
        assert.deepStrictEqual<unknown>(relabelled, {
          ...expected,
          label: "Support",
          ...settings,
        })
        assert.deepStrictEqual(yield* update("owner", workspace, number.id, {}), relabelled)
        assert.strictEqual(yield* remove("owner", workspace, number.id), number.id)
        assert.deepStrictEqual(yield* list("owner", workspace), [other])
        assert.isNull(yield* Store.use(({ numbers: store }) => store.find(number.id)))
      }),
    ),
  )

  it.effect("an unknown, removed or foreign number is number_not_found, 404", () =>
    inAService(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const removed = yield* aNumber(workspace)
        const { remove, update } = yield* Numbers
        yield* remove("owner", workspace, removed)
        const theirs = yield* aNumber(yield* aWorkspace())
        for (const id of [removed, theirs, unknown as NumberId, undefined]) {
          for (const request of [
            refusal(update("owner", workspace, id, { label: "x" })),
            refusal(remove("owner", workspace, id)),
          ]) {
            const refused = yield* request
            assert.deepStrictEqual([refused.code, refused.status], ["number_not_found", 404])
          }
        }
      }),
    ),
  )

  it.effect("a phone that the workspace already has is number_exists, connected or not", () =>
    inAService(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const numbers = yield* Numbers
        const phone = "+15550000300"
        const make = (status: "connected" | "disconnected") =>
          numbers.create("owner", workspace, { platform: "whatsapp", phone, status })
        const { id } = yield* make("disconnected")
        const { code, details, field, message, status } = yield* refusal(make("connected"))
        assert.include(message, "where it is disconnected, link it again")
        assert.deepStrictEqual(
          { code, details, field, status },
          { code: "number_exists", details: { numberId: id }, field: "phone", status: 409 },
        )
        yield* numbers.create("owner", workspace, { platform: "telegram", phone })
        yield* numbers.remove("owner", workspace, id)
        yield* make("connected")
      }),
    ),
  )

  it.effect(
    "the plan's room for numbers binds the operator; without a plan there is no limit",
    () =>
      inAService(
        Effect.gen(function* () {
          const plan = aPlan({ maxNumbers: 1 })
          const workspace = yield* aWorkspace({ plan })
          const numbers = yield* Numbers
          const make = (phone: string) =>
            refusal(numbers.create("owner", workspace, { platform: "whatsapp", phone }))
          yield* aNumber(workspace)
          const { code, status } = yield* make("+15550000302")
          assert.deepStrictEqual([code, status], ["number_limit_reached", 403])
          const ensure = EnsuredWorkspaces.use((all) =>
            all.ensure({
              name: "Two",
              plan,
              numbers: [{ phone: "+15550000303" }, { phone: "+15550000304" }],
            }),
          )
          assert.strictEqual((yield* refusal(ensure)).code, "number_limit_reached")
          for (const unlimited of [null, aPlan({ maxNumbers: null })]) {
            yield* Workspaces.use((all) => all.update("owner", workspace, { plan: unlimited }))
            yield* aNumber(workspace)
          }
        }),
      ),
  )

  it.effect("a live number without status starts disconnected", () =>
    inAService(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const numbers = yield* Numbers
        const live = { platform: "whatsapp", phone: "+15550000300" } as const
        assert.strictEqual((yield* numbers.create("owner", workspace, live)).status, "disconnected")
        const connected = { ...live, phone: "+15550000301", status: "connected" } as const
        const refused = yield* refusal(numbers.create("owner", workspace, connected))
        assert.deepStrictEqual([refused.code, refused.field], ["validation_failed", "status"])
      }),
    ).pipe(Effect.provideService(ConnectedFromTheStart, false)),
  )

  it.effect("owners and administrators manage numbers and contacts, members do not", () =>
    inAService(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const numbers = yield* Numbers
        const contacts = yield* Contacts
        for (const [index, role] of roles.entries()) {
          const phone = `+1555000010${index}`
          // Every role reads.
          yield* numbers.list(role, workspace)
          yield* contacts.list(role, workspace, {})
          const requests: ReadonlyArray<Effect.Effect<void, Failure>> = [
            Effect.asVoid(numbers.create(role, workspace, { platform: "whatsapp", phone })),
            Effect.asVoid(contacts.create(role, workspace, { name: "Jane", phone })),
          ]
          for (const each of requests) {
            const result = yield* Effect.result(each)
            const reported =
              result._tag === "Success"
                ? "done"
                : result.failure._tag === "Refusal" && result.failure.code
            assert.strictEqual(reported, role === "member" ? "role_required" : "done")
          }
        }
      }),
    ),
  )
})
