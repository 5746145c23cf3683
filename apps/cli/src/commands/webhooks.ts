/** Webhook endpoints, their deliveries, and the callbacks of version 1. */
import type { CallbackDelivery, Delivery, Listing, Webhook } from "@messaging-service/client"
import {
  any,
  choice,
  command,
  count,
  flag,
  id,
  link,
  many,
  maybe,
  once,
  targetOptions,
  text,
  time,
  workspace,
} from "../Command.ts"
import type { Tools } from "../Command.ts"
import { Ended, usageError } from "../ending.ts"
import { targetText } from "../WorkspaceClient.ts"
import { limit, listed } from "./lists.ts"
import { pollDelay, whileRead } from "./polling.ts"
import { callerDetail, toFields, operatorLists, operatorDetail } from "./rows.ts"

const columns = [
  "id",
  "url",
  ["active", ({ active, disabled_reason }: Webhook) => disabled_reason ?? active],
  "events",
  ["last delivery", ({ last_delivery: last }: Webhook) => last && [last.attempted_at, last.status]],
] as const

const deliveryColumns = [
  ["at", "attempted_at"],
  ["event", "event_id"],
  "type",
  "attempt",
  ["answer", ({ error, response_status }: Delivery | CallbackDelivery) => response_status ?? error],
  ["millis", "duration_ms"],
  ["again", "next_attempt_at"],
] as const

const one = { id: once(id("endpoint")) }

const events = [
  "message.sent",
  "message.failed",
  "message.cancelled",
  "message.expired",
  "message.delivered",
  "message.read",
  "number.connected",
  "number.disconnected",
  "number.paused",
  "number.resumed",
  "number.gap",
  "number.restricted",
  "number.unrestricted",
  "message.received",
  "message.echo",
  "message.edited",
  "message.revoked",
  "message.reaction",
  "message.recovered",
] as const

/** Deliveries as they happen. */
const followDeliveries = (request: () => Listing<Delivery>, { output, machine }: Tools) => {
  let last = 0
  return whileRead(machine, async () => {
    const { data } = await request().page()
    const fresh = data.filter((delivery) => delivery.id > last).toReversed()
    if (fresh.length > 0) await output.all(fresh, deliveryColumns)
    last = Math.max(last, ...data.map((delivery) => delivery.id))
    return pollDelay(1)
  })
}

export const webhookCommands = [
  command({
    name: "webhooks create",
    as: "key or operator",
    summary: "Adds an endpoint, and shows its secret once.",
    arguments: { url: once(link("A public https:// address.")) },
    options: {
      ...targetOptions,
      event: any(
        choice(
          events,
          "The event types to deliver. Default: the first four; the others need conversations.",
        ),
      ),
      description: maybe(text("TEXT", "A description.")),
    },
    run: async ({ description, event, url }, { caller, output, place }) => {
      const createdWebhook = await caller().webhooks.create(
        toFields({ url, events: event, description }),
      )
      output.one(createdWebhook)
      if (createdWebhook.secret !== null) return
      output.print(
        `The answer with its secret was lost: messaging webhooks rotate-secret ${createdWebhook.id}${targetText(place, { withMode: true })} shows another.`,
      )
    },
  }),
  command({
    name: "webhooks list",
    as: "key or operator",
    summary: "Lists endpoints: the key's active ones, or all of a workspace.",
    options: { workspace: maybe(workspace.value) },
    run: async ({ workspace: inside }, { client, operator, output }) =>
      output.all(
        inside === undefined
          ? await client().webhooks.list()
          : await operator().webhooks.list(inside),
        columns,
      ),
  }),
  command({
    name: "webhooks get",
    as: "key or operator",
    summary: "Shows an endpoint: the key's, or one of a workspace.",
    arguments: one,
    options: { workspace: maybe(workspace.value) },
    run: async ({ id: of, workspace: inside }, { client, operator, output }) => {
      if (inside === undefined) return output.one(await client().webhooks.get(of))
      const all = await operator().webhooks.list(inside)
      const found = all.find((each) => each.id === of)
      if (found === undefined) throw new Ended("notFound", `the workspace has no endpoint ${of}`)
      output.one(found)
    },
  }),
  callerDetail(
    "webhooks delete",
    "endpoint",
    "webhooks.delete",
    "Removes an endpoint and its pending deliveries.",
  ),
  callerDetail("webhooks test", "endpoint", "webhooks.test", "Sends an endpoint a ping."),
  callerDetail(
    "webhooks rotate-secret",
    "endpoint",
    "webhooks.rotateSecret",
    "Replaces an endpoint's secret, and shows the new one once.",
  ),
  command({
    name: "webhooks log",
    as: "operator",
    summary: "Shows every delivery attempt of an endpoint, newest first.",
    arguments: one,
    options: {
      workspace,
      follow: flag("Continues with new attempts, until Ctrl-C."),
      type: any(choice([...events, "ping"], "Only of these types.")),
      failed: flag("Only attempts that delivered nothing."),
      since: maybe(time("Attempted then or later.")),
      until: maybe(time("Attempted before.")),
      ...limit,
    },
    run: ({ failed, follow, id: of, since, type, until, workspace: inside, ...args }, tools) => {
      const filter = toFields({ type, failed, since, until })
      if (follow && (args.all || args.limit !== undefined)) {
        throw usageError("--follow excludes --all and --limit")
      }
      const request = (page: { readonly limit: number }) =>
        tools.operator().webhooks.deliveries(inside, of, { ...filter, ...page })
      return follow
        ? followDeliveries(() => request({ limit: 100 }), tools)
        : listed(args, tools.output, deliveryColumns, request)
    },
  }),
  command({
    name: "webhooks delivery",
    as: "operator",
    summary: "Shows an attempt with what was sent and what was answered.",
    arguments: { ...one, delivery: once(count("DELIVERY", "The id of an attempt; see the log.")) },
    options: { workspace },
    run: async (input, { operator, output }) =>
      output.one(await operator().webhooks.delivery(input.workspace, input.id, input.delivery)),
  }),
  command({
    name: "webhooks change",
    as: "operator",
    summary: "Changes an endpoint; its secret stays.",
    arguments: one,
    options: {
      workspace,
      url: maybe(link("A public https:// address.")),
      event: any(choice(events, "The event types to deliver, instead of the present ones.")),
      description: maybe(text("TEXT", "A description.")),
    },
    run: async ({ description, event, id: of, url, workspace: inside }, { operator, output }) => {
      const requested = toFields({ url, events: event, description })
      if (Object.keys(requested).length === 0) {
        throw usageError("give what to change: --url, --event or --description")
      }
      output.one(await operator().webhooks.update(inside, of, requested), columns)
    },
  }),
  command({
    name: "webhooks recover",
    as: "operator",
    summary: "Redelivers all undelivered events since a time.",
    arguments: one,
    options: { workspace, since: once(time("At most 30 days ago.")) },
    run: async ({ id: of, since, workspace: inside }, { operator, output }) => {
      const { webhooks } = operator()
      let queued = 0
      for (let more = true; more;) {
        const recovered = await webhooks.recover(inside, of, { since })
        queued += recovered.queued
        more = recovered.more && recovered.queued > 0
      }
      output.one({ queued })
    },
  }),
  command({
    name: "webhooks redeliver",
    as: "operator",
    summary: "Redelivers events under their own event ids.",
    arguments: { ...one, event: many(text("EVENT", "The id of an event, evt_…; see the log.")) },
    options: { workspace },
    run: async (input, { operator, output }) => {
      for (const event_id of input.event) {
        output.one(await operator().webhooks.redeliver(input.workspace, input.id, { event_id }))
      }
    },
  }),
  operatorDetail(
    "webhooks resume",
    "endpoint",
    "webhooks.resume",
    "Resumes a stopped endpoint.",
    columns,
  ),
  operatorLists(
    "callbacks log",
    "callbacks.deliveries",
    "Shows every attempt of a version 1 callback, newest first.",
    deliveryColumns,
  ),
  command({
    name: "callbacks secret",
    as: "operator",
    summary: "Shows the secret that signs callbacks of version 1.",
    options: { workspace, rotate: flag("Rotates it first.") },
    run: async ({ rotate, workspace: inside }, { operator, output }) => {
      const { callbacks } = operator()
      output.one(await (rotate ? callbacks.rotateSecret(inside) : callbacks.secret(inside)))
    },
  }),
]
