import { open } from "@messaging-service/service"

const messaging = await open()
const shop = await messaging.workspaces.ensure("shop", { numbers: [{ phone: "+15550100001" }] })

const handled = Promise.withResolvers<void>()
messaging.subscribe("receipts", ["message.sent", "message.failed"], ({ message, type }) => {
  console.log(type, message.reference)
  handled.resolve()
})
await messaging.as(shop).messages.send({
  to: { phone: "+15550100002" },
  text: "Your order has left.",
  reference: "order 4711",
})
await handled.promise
await messaging.close()
