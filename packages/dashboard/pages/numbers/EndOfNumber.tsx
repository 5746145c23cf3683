/** Logs a number out, or deletes it; both ask first and name what they hit. */
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { SendingNumber } from "@messaging-service/client"
import { useCall } from "../api/useCall.ts"
import { Confirm } from "../ui/Dialog.tsx"
import { Button } from "../ui/parts.tsx"
import { Section } from "../ui/Section.tsx"
import { nameOf } from "./connection.ts"
import type { NumberPath } from "./connection.ts"
import { endWords as words } from "./words.ts"

export const EndOfNumber = ({
  number,
  path,
  waiting,
}: {
  number: SendingNumber
  path: NumberPath
  /** Messages that deleting it cancels. */
  waiting: number
}) => {
  const navigate = useNavigate()
  const [asking, setAsking] = useState<"log out" | "delete" | null>(null)
  const close = () => setAsking(null)
  const logOut = useCall("POST /admin/v1/workspaces/{id}/numbers/{number_id}/logout", close)
  const remove = useCall("DELETE /admin/v1/workspaces/{id}/numbers/{number_id}", () =>
    navigate({ to: "/w/$workspaceId/numbers", params: { workspaceId: String(path.id) } }),
  )
  return (
    <Section title={words.title}>
      <div className="flex flex-wrap gap-2">
        {number.status === "connected" && (
          <Button onClick={() => setAsking("log out")}>{words.logOut}</Button>
        )}
        <Button look="danger" onClick={() => setAsking("delete")}>
          {words.remove}
        </Button>
      </div>
      {asking === "log out" && (
        <Confirm
          title={words.logOutTitle(nameOf(number))}
          action={words.logOut}
          call={logOut}
          act={() => logOut.mutate({ path })}
          close={close}
        >
          {words.logOutAbout}
        </Confirm>
      )}
      {asking === "delete" && (
        <Confirm
          title={words.removeTitle(nameOf(number))}
          action={words.remove}
          call={remove}
          act={() => remove.mutate({ path })}
          close={close}
        >
          {words.removeAbout(waiting)}
        </Confirm>
      )}
    </Section>
  )
}
