import { MessagingError, open } from "@messaging-service/service"

const messaging = await open()
const shop = await messaging.workspaces.ensure("shop", { numbers: [{ phone: "+15550100001" }] })

try {
  await messaging.as(shop).messages.send({ to: { phone: "12" }, text: "Hello" })
} catch (error) {
  if (!(error instanceof MessagingError)) throw error
  switch (error.code) {
    case "invalid_phone":
      console.log(error.status, error.field, error.message)
      break
    case "number_daily_cap_reached":
    case "service_unavailable":
      console.log("again in", error.retryAfterMillis)
      break
    default:
      throw error
  }
}
await messaging.close()
