/**
 * Where a portal link leads. Its code follows `#`, which no server, log or referrer sees. A button exchanges it:
 * programs that open links before people do, some of them whole browsers, use nothing up.
 */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { Refused, call } from "../api/call.ts"
import { setSession } from "../api/session.ts"
import { Button, Failure, useTitle } from "../ui/parts.tsx"
import { CenteredCard } from "./Door.tsx"
import { portalLabels as labels } from "./words.ts"

export const PortalPage = () => {
  const client = useQueryClient()
  const navigate = useNavigate()
  const [code] = useState(() => new URLSearchParams(location.hash.slice(1)).get("code") ?? "")
  const { error, isPending, mutate } = useMutation({
    mutationFn: () => call("POST /admin/v1/session", { body: { code } }),
    onSuccess: (session) => {
      setSession(client, session)
      void navigate({ to: "/", replace: true })
    },
  })
  const isUsed = code === "" || (error instanceof Refused && error.status === 401)
  useTitle(isUsed ? labels.usedTitle : labels.title)

  return (
    <CenteredCard>
      {isUsed ? (
        <div role="alert" className="flex flex-col gap-2">
          <h1 className="text-xl font-semibold">{labels.usedTitle}</h1>
          <p className="text-soft">{labels.used}</p>
        </div>
      ) : (
        <>
          <div>
            <h1 className="text-xl font-semibold">{labels.title}</h1>
            <p className="text-soft">{labels.about}</p>
          </div>
          {error !== null && <Failure error={error} />}
          <Button variant="primary" busy={isPending} onClick={() => mutate()} className="h-10">
            {labels.open}
          </Button>
        </>
      )}
    </CenteredCard>
  )
}
