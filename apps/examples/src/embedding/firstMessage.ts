import { open } from "@messaging-service/service"

const messaging = await open() // in memory, with simulated phones
const shop = await messaging.workspaces.ensure("shop", { numbers: [{ phone: "+15550100001" }] })
const api = messaging.as(shop)

const sent = await api.messages.send(
  { to: { phone: "+15550100002" }, text: "Your order has left." },
  { idempotencyKey: "order 4711" },
)
await messaging.drain()
for await (const message of api.messages.list({ since: sent.createdAt })) {
  console.log(message.text, message.status)
}
await messaging.close()
