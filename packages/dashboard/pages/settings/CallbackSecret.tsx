/** The secret that signs callbacks of version 1: shown when a user asks for it, replaced after a question. */
import { useState } from "react"
import { useCall } from "../api/useCall.ts"
import { Confirm } from "../ui/Dialog.tsx"
import { Button, Failure, Secret } from "../ui/parts.tsx"
import { Section } from "../ui/Section.tsx"
import { callbackWords as words } from "./words.ts"

export const CallbackSecret = ({ id }: { id: number }) => {
  const [secret, setSecret] = useState<string | null>(null)
  const [isReplacing, setReplacing] = useState(false)
  const show = useCall("GET /admin/v1/workspaces/{id}/callback-secret", (answer) =>
    setSecret(answer.secret),
  )
  const rotate = useCall("POST /admin/v1/workspaces/{id}/callback-secret/rotate", (answer) => {
    setSecret(answer.secret)
    setReplacing(false)
  })
  const path = { id }
  return (
    <Section
      title={words.title}
      about={words.about}
      action={
        <>
          {secret === null && (
            <Button busy={show.isPending} onClick={() => show.mutate({ path })}>
              {words.show}
            </Button>
          )}
          <Button onClick={() => setReplacing(true)}>{words.rotate}</Button>
        </>
      }
    >
      {show.error && <Failure error={show.error} />}
      {secret !== null && <Secret label={words.label} text={secret} about={words.keep} />}
      {isReplacing && (
        <Confirm
          title={words.rotateTitle}
          action={words.rotate}
          call={rotate}
          act={() => rotate.mutate({ path })}
          close={() => setReplacing(false)}
        >
          {words.rotateAbout}
        </Confirm>
      )}
    </Section>
  )
}
