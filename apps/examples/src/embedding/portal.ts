import { open } from "@messaging-service/service"
import { Hono } from "hono"

const messaging = await open({
  http: { basePath: "/messaging", publicUrl: "https://shop.example.com" },
})
const tenant = await messaging.workspaces.ensure("tenant 42", {
  numbers: [{ phone: "+15550100001" }],
})

const app = new Hono()
const pages = messaging.handler({ dashboard: true })
app.all("/messaging/*", (context) => pages(context.req.raw))

// A page of your own, behind your own sign-in: it leads a tenant into the portal of their workspace.
app.get("/account/messages", async (context) => {
  const { url } = await messaging.portalLink(tenant, {
    role: "member",
    returnUrl: "https://shop.example.com/account",
  })
  return context.redirect(url)
})

const away = await app.request("https://shop.example.com/account/messages")
console.log(away.status, away.headers.get("location")?.replace(/code=.*/, "code=…"))
const page = await app.request("https://shop.example.com/messaging/portal")
console.log(page.status, (await page.text()).includes('"/messaging/assets/'))
await messaging.close()
