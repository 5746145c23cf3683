import { open } from "@messaging-service/service"

const messaging = await open()
const shop = await messaging.workspaces.ensure("shop", { numbers: [{ phone: "+15550100001" }] })

// What your program keeps in its own database, in the transaction that deals with an event.
let position = 0

messaging.on(
  ["message.sent", "message.failed"],
  async ({ message, position: reached, type }) => {
    console.log(type, message.error?.code ?? "")
    position = reached
  },
  { after: position },
)
const api = messaging.as(shop)
await api.messages.send({ to: { phone: "+15550100002" }, text: "Hello" })
await api.messages.send({ to: { group: "No such group" }, text: "Hello" })
await messaging.drain()
await messaging.close() // listeners get first what was committed
console.log(position)
