import { open } from "@messaging-service/service"

const messaging = await open()
const shop = await messaging.workspaces.ensure("shop", { numbers: [{ phone: "+15550100001" }] })

const handled = new Promise<void>((resolve) => {
  messaging.subscribe("receipts", ["message.sent", "message.failed"], ({ message, type }) => {
    console.log(type, message.reference)
    resolve()
  })
})
await messaging.as(shop).messages.send({
  to: { phone: "+15550100002" },
  text: "Your order has left.",
  reference: "order 4711",
})
await handled
await messaging.close()
