import type { OperatorClient } from "@messaging-service/client"
import express from "express"

/** `workspaceOf` is yours: the workspace of the customer who is signed in to your app. */
export const phonesPage = (
  operator: OperatorClient,
  workspaceOf: (request: express.Request) => number | undefined,
): express.Router => {
  const router = express.Router()
  // A POST: programs that open links before people do would make links without a use.
  router.post("/phones", async (request, response) => {
    const workspace = workspaceOf(request)
    if (workspace === undefined) return void response.status(403).end()
    const { url } = await operator.portalSessions.create(workspace, {
      role: "administrator",
      expires_in: 1800,
      return_url: "https://shop.example/settings",
    })
    response.redirect(303, url)
  })
  return router
}
