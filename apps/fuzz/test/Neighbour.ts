/** Another workspace of the service, which does what it can while a run asks of the run's own workspaces. */
import { processes } from "@messaging-service/testkit"
import { Effect } from "effect"
import { receiver } from "../src/world/Receiver.ts"
import type { Operator } from "./FixedRun.ts"

const events = [
  "message.sent",
  "message.delivered",
  "message.read",
  "message.received",
  "message.edited",
  "message.revoked",
  "message.reaction",
  "number.disconnected",
  "number.paused",
  "number.gap",
]

interface Created {
  readonly id: number
}

/** What it does in turns; those that belong to conversations are refused while it has none. */
export const makeNeighbour = Effect.fnUntraced(function* (
  operator: Operator,
  url: string,
  listens: boolean,
) {
  const hook = yield* receiver(() => undefined)
  const workspace = yield* operator.aWorkspace({ name: "Neighbour" })
  const own = `/workspaces/${workspace.id}`
  const number = yield* operator.aNumber(workspace, { phone: "+15550400001" })
  const phone = `/simulator/numbers/${number.id}`
  if (listens) yield* operator.request("PUT", `${own}/conversations`, { groups: true })
  const { key: token } = yield* operator.aKey(workspace, { scopes: "all" })
  const request = <Body = Created>(method: string, path: string, body?: unknown) =>
    processes.call<Body>(method, `${url}/api/v2${path}`, { token, body })
  const endpoint = yield* request("POST", "/webhooks", { url: `${hook}/hook` })
  yield* request("PATCH", `/webhooks/${endpoint.body.id}`, { events })

  const ada = { phone: "+15550700001", name: "Ada" }
  let received = 0
  const write = Effect.gen(function* () {
    const from = received % 3 === 2 ? { lid: "700001", name: "Bob" } : ada
    const group = received % 4 === 3 ? { group: "Team" } : {}
    const { body, status } = yield* operator.request<Created>(
      "POST",
      `${phone}/received-messages`,
      {
        from,
        text: `Hello ${received}`,
        ...group,
      },
    )
    if (status !== 201) return
    received++
    const change = ["edit", "revoke"][received % 3]
    const text = change === "edit" ? { text: "Changed" } : undefined
    const path = `/simulator/received-messages/${body.id}/${change}`
    if (change !== undefined) yield* operator.request("POST", path, text)
  })
  const send = Effect.gen(function* () {
    const { body } = yield* request("POST", "/messages", {
      to: { phone: ada.phone },
      text: "Hello",
    })
    const message = `/simulator/messages/${body.id}`
    yield* operator.request("POST", "/simulator/settle")
    yield* operator.request("POST", `${message}/ticks`, { status: "read" })
    yield* operator.request("POST", `${message}/react`, { from: ada, emoji: "👍" })
  })
  const steps = [
    write,
    send,
    write,
    operator.request("POST", `${phone}/gap`),
    write,
    operator.request("POST", `${own}/numbers/${number.id}/pause`),
    operator.request("POST", `${own}/numbers/${number.id}/resume`),
  ]
  let count = 0
  return {
    /** Does the next of them. */
    act: Effect.suspend(() => steps[count++ % steps.length] ?? Effect.void),
    /** How many messages it has received. */
    received: () => received,
  }
})
