import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { HttpTestClients, errorBody } from "./HttpTestClients.ts"
import { aPlan, aSender, aText, expectBody, operate } from "./Records.ts"
import { layerService } from "./Service.ts"
import { aClient, call, assertRefusedV1 } from "./v1/Asking.ts"

/** Includes a no-break space and an ideographic one. */
const blank = " \t\u00a0\u3000"

layer(layerService())("a name of white space only", (it) => {
  it.effect("is validation_failed for every kind of record", () =>
    Effect.gen(function* () {
      const { socket } = yield* HttpTestClients
      const { token, workspace } = yield* aSender()
      const root = "/admin/v1/workspaces"
      const at = `${root}/${workspace.id}`
      const api = "/api/v2"
      const reminder = { ...aText, schedule: { cron: "0 9 * * *" } }
      const media = { url: "https://files.example/a.pdf", file_name: blank }
      const aWhatsApp = { platform: "whatsapp", phone: "+15550007001" }
      const requests = [
        [operate, "POST", root, { name: blank }, "name"],
        [operate, "PATCH", at, { name: blank }, "name"],
        [operate, "PATCH", at, { plan: aPlan({ name: blank }) }, "plan.name"],
        [operate, "POST", `${at}/keys`, { version: 2, name: blank }, "name"],
        [operate, "POST", `${at}/numbers`, { ...aWhatsApp, label: blank }, "label"],
        [operate, "POST", `${at}/contacts`, { name: blank, phone: aText.to.phone }, "name"],
        [socket.call, "POST", `${api}/reminders`, { ...reminder, name: blank }, "name"],
        [socket.call, "POST", `${api}/messages`, { ...aText, to: { group: blank } }, "to.group"],
        [socket.call, "POST", `${api}/messages`, { ...aText, media }, "media.file_name"],
        [
          socket.call,
          "POST",
          `${api}/number-checks`,
          { phones: ["+15550001234"], name: blank },
          "name",
        ],
      ] as const
      for (const [request, method, path, json, field] of requests) {
        const answer = yield* request(
          request === operate ? { method, path, json } : { method, path, json, token },
        )
        const { code, field: named } = errorBody(answer)
        assert.deepStrictEqual([code, named], ["validation_failed", field], `${method} ${path}`)
      }
    }),
  )

  it.effect("counts as missing in a version 1 campaign, and names no group of version 1", () =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      const campaign = yield* call("verification/create/", {
        token: credentials.api_key,
        json: { numbers: ["15550001234"], campaign_name: blank },
      })
      expectBody(campaign, 200)
      const toGroup = { ...credentials, group_name: blank, msg: "Hello" }
      assertRefusedV1(yield* call("send_msg/group/", { json: toGroup }), 400, "Invalid group name")
    }),
  )
})
