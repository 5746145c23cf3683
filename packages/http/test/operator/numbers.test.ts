/** Single numbers of a workspace, as the operator and its portals read them. */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { HttpTestClients } from "../HttpTestClients.ts"
import { aNumber, aWorkspace, expectBody, operate } from "../Records.ts"
import { layerService } from "../Service.ts"
import { aSession } from "./sessionCookies.ts"
import type { Caller } from "./sessionCookies.ts"
import { scan } from "../v2/Connecting.ts"
import type { ConnectBody, NumberBody } from "../v2/Connecting.ts"

interface OperatedBody extends NumberBody {
  readonly connect: (ConnectBody & { qr_code_expires_at: string | null; ends_at: string }) | null
  readonly pacing: object
  readonly proxy: object | null
}

const numbersPath = (workspace: { readonly id: number }) =>
  `/admin/v1/workspaces/${workspace.id}/numbers`

const read = (workspace: { readonly id: number }, id: number) =>
  Effect.map(operate({ path: `${numbersPath(workspace)}/${id}` }), (answer) =>
    expectBody<OperatedBody>(answer, 200),
  )

const link = (workspace: { readonly id: number }, json: object = {}) =>
  Effect.map(operate({ method: "POST", path: `${numbersPath(workspace)}/link`, json }), (answer) =>
    expectBody<NumberBody>(answer, 202),
  )

/** Reads until the worker shows a code. */
const code = (workspace: { readonly id: number }, id: number) =>
  read(workspace, id).pipe(
    Effect.map(({ connect }) => connect),
    Effect.repeat({
      until: (connect) => connect?.qr_code_url != null || connect?.pairing_code != null,
    }),
  )

const asPortal = (role: Caller, workspace: { readonly id: number }, path: string) =>
  Effect.gen(function* () {
    const { socket } = yield* HttpTestClients
    return yield* socket.call({ path, headers: [["cookie", yield* aSession(role, workspace.id)]] })
  })

describe("a number of a workspace", () => {
  layer(layerService())("over real sockets", (it) => {
    it.effect("shows its code, when another one comes, and when linking ends", () =>
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const { id } = yield* link(workspace)
        const connect = yield* code(workspace, id)
        assert.match(connect?.qr_code_url ?? "", /\/qr\/[\w-]+\.png$/)
        assert.deepStrictEqual(connect, {
          qr_code_url: connect?.qr_code_url ?? "",
          qr_code_expires_at: "1970-01-01T00:01:00Z",
          pairing_code: null,
          pairing_code_expires_at: null,
          linking: false,
          requested_at: "1970-01-01T00:00:00Z",
          ends_at: "1970-01-01T00:10:00Z",
        })
        yield* scan(id)
        const linked = yield* read(workspace, id)
        assert.deepInclude(linked, { status: "connected", connect: null, proxy: null })
        assert.deepStrictEqual(linked, {
          ...linked,
          ...expectBody<OperatedBody>(
            yield* operate({ method: "PATCH", path: `${numbersPath(workspace)}/${id}`, json: {} }),
            200,
          ),
        })
      }),
    )

    it.effect("shows a pairing code without a QR code's time", () =>
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const { id } = yield* link(workspace, { login_method: "phone_code", phone: "+15550001111" })
        assert.deepInclude(yield* code(workspace, id), {
          qr_code_url: null,
          qr_code_expires_at: null,
          pairing_code_expires_at: "1970-01-01T00:03:00Z",
          ends_at: "1970-01-01T00:10:00Z",
        })
      }),
    )

    it.effect("shows its code to those who may link it, and none to a portal's member", () =>
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const { id } = yield* link(workspace)
        yield* code(workspace, id)
        for (const role of ["owner", "administrator", "member"] as const) {
          const answer = yield* asPortal(role, workspace, `${numbersPath(workspace)}/${id}`)
          const { connect, status } = expectBody<OperatedBody>(answer, 200)
          assert.strictEqual(status, "connecting")
          assert.strictEqual(connect === null, role === "member", role)
          if (role === "member") assert.notInclude(answer.text, "/qr/")
        }
      }),
    )

    it.effect("names the process that has it to the operator, and to no portal", () =>
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const { id } = yield* aNumber(workspace)
        const one = `${numbersPath(workspace)}/${id}/connection`
        assert.isNotNull(
          expectBody<{ worker: string | null }>(yield* operate({ path: one }), 200).worker,
        )
        for (const role of ["owner", "member"] as const) {
          const alone = yield* asPortal(role, workspace, one)
          assert.propertyVal(expectBody<object>(alone, 200), "worker", null)
          const list = `/admin/v1/workspaces/${workspace.id}/connections`
          const { data } = expectBody<{ data: ReadonlyArray<object> }>(
            yield* asPortal(role, workspace, list),
            200,
          )
          assert.deepInclude(data[0], { number_id: id, worker: null })
        }
      }),
    )

    it.effect("is listed with all others, its quota and what it sent by the hour", () =>
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const [one, two] = [yield* aNumber(workspace), yield* aNumber(workspace)]
        const path = `/admin/v1/workspaces/${workspace.id}`
        yield* operate({
          method: "POST",
          path: `${path}/messages`,
          json: { from: two.id, to: { phone: "+15550001234" }, text: "Hello" },
        })
        yield* operate({ method: "POST", path: "/admin/v1/simulator/settle" })
        const answer = yield* operate({ path: `${path}/connections` })
        const { data, truncated } = expectBody<{
          readonly data: ReadonlyArray<{ readonly number_id: number } & Record<string, unknown>>
          readonly truncated: boolean
        }>(answer, 200)
        assert.isFalse(truncated)
        for (const [index, { id }] of [one, two].entries()) {
          const alone = yield* operate({ path: `${path}/numbers/${id}/connection` })
          const hours = Array.from({ length: 24 }, (_, hour) => (hour === 23 ? index : 0))
          assert.deepStrictEqual<unknown>(data[index], {
            number_id: id,
            ...expectBody<object>(alone, 200),
            quota: { used: index, limit: 1000, free_at: null },
            hours,
          })
        }
      }),
    )
  })
})
